// Whether a word stands near a number and says what it is. The words are looked for once, and only when a number asks.

const BEFORE_CHARS_MAX = 80
const AFTER_CHARS_MAX = 40

export type Nearby = (start: number, end: number) => boolean

/** Numbers ask in the order in which they stand. */
export function nearby(text: string, words: RegExp): Nearby {
  let spans: { start: number; end: number }[] | null = null
  // The first word that is not too far before the number that asked last.
  let next = 0
  return (start, end) => {
    spans ??= [...text.matchAll(words)].map(found => ({ start: found.index, end: found.index + found[0].length }))
    while (next < spans.length && spans[next]!.start < start - BEFORE_CHARS_MAX) next++
    for (let at = next; at < spans.length; at++) {
      const word = spans[at]!
      if (word.start > end + AFTER_CHARS_MAX) return false
      if (word.end <= start || (word.start >= end && word.end <= end + AFTER_CHARS_MAX)) return true
    }
    return false
  }
}
