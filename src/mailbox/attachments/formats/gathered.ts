// Text that is put together from the parts of a file, up to a length, and the order of parts that have numbers.

/** What was read so far; it says `stop` when that is enough. */
export class Gathered {
  readonly #parts: string[] = []
  readonly #charsMax: number
  #length = 0

  constructor(charsMax: number) {
    this.#charsMax = charsMax
  }

  add(text: string): 'stop' | void {
    if (text !== '') this.#parts.push(text)
    this.#length += text.length
    return this.isFull ? 'stop' : undefined
  }

  get isFull(): boolean {
    return this.#length >= this.#charsMax
  }

  get value(): string {
    return this.#parts.join('')
  }
}

/** In the order of their numbers: `slide10` comes after `slide9`. */
export const numbered = (names: readonly string[], pattern: RegExp): string[] =>
  names
    .flatMap(name => {
      const number = pattern.exec(name)?.[1]
      return number ? [{ name, number: Number(number) }] : []
    })
    .toSorted((one, other) => one.number - other.number)
    .map(({ name }) => name)
