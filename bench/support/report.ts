// Prints figures beside their targets. Ratios count; absolute figures depend on the machine and its mood.
import { existsSync, readFileSync } from 'node:fs'

export interface Figure {
  name: string
  value: string
  target?: string
  /** Absent when there is nothing to hold it against. */
  isMet?: boolean
}

const figures: Figure[] = []

export function report(figure: Figure): void {
  const taken = stolenSinceLast()
  const value = taken >= STOLEN_MIN ? `${figure.value} (host took ${Math.round(taken * 100)} %)` : figure.value
  figures.push({ ...figure, value })
  console.log(line({ ...figure, value }))
}

/** From here on, a figure says how much of the machine somebody else had. */
const STOLEN_MIN = 0.03
let lastTimes = coreTimes()

/** What the host of a virtual machine gave to others of the time since the last figure. */
function stolenSinceLast(): number {
  const before = lastTimes
  lastTimes = coreTimes()
  const all = lastTimes.all - before.all
  return all > 0 ? (lastTimes.stolen - before.stolen) / all : 0
}

/** In ticks of all cores together; nothing where the system does not tell. */
function coreTimes(): { all: number; stolen: number } {
  if (!existsSync('/proc/stat')) return { all: 0, stolen: 0 }
  const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
  const ticks = first.split(/\s+/).slice(1, 9).map(Number)
  return { all: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 }
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
