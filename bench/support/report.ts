// Prints figures beside their targets. Ratios count; absolute figures depend on the machine and its mood.

export interface Figure {
  name: string
  value: string
  target?: string
  /** Absent when there is nothing to hold it against. */
  isMet?: boolean
}

const figures: Figure[] = []

export function report(figure: Figure): void {
  figures.push(figure)
  console.log(line(figure))
}

export function note(text: string): void {
  console.log(`  ${text}`)
}

export function heading(text: string): void {
  console.log(`\n${text}`)
}

/** The whole table once more, and whether every target was met. */
export function summary(): boolean {
  console.log('\nsummary')
  for (const figure of figures) console.log(line(figure))
  return figures.every(figure => figure.isMet !== false)
}

function line({ name, value, target, isMet }: Figure): string {
  const mark = isMet === undefined ? ' ' : isMet ? '✓' : '✗'
  return `${mark} ${name.padEnd(64)} ${value.padStart(18)}${target ? `   target ${target}` : ''}`
}

export const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
export const count = (value: number): string => Math.round(value).toLocaleString('en')
export const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length * part)] ?? 0
