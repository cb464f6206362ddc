// Whether a word stands near a number and says what it is. The words are looked for once, and only when a number asks.

const BEFORE_CHARS_MAX = 80
const AFTER_CHARS_MAX = 40

export class Nearby {
  readonly #text: string
  readonly #words: RegExp
  #spans: { start: number; end: number }[] | null = null
  /** The first word that is not too far before the number that asked last. */
  #next = 0

  constructor(text: string, words: RegExp) {
    this.#text = text
    this.#words = words
  }

  /** Numbers ask in the order in which they stand. */
  has(start: number, end: number): boolean {
    this.#spans ??= [...this.#text.matchAll(this.#words)].map(found => ({
      start: found.index,
      end: found.index + found[0].length,
    }))
    while (this.#next < this.#spans.length && this.#spans[this.#next]!.start < start - BEFORE_CHARS_MAX) this.#next++
    for (let at = this.#next; at < this.#spans.length; at++) {
      const word = this.#spans[at]!
      if (word.start > end + AFTER_CHARS_MAX) return false
      if (word.end <= start || (word.start >= end && word.end <= end + AFTER_CHARS_MAX)) return true
    }
    return false
  }
}
