// What base64 and hexadecimal digits in a text stand for, where that is text again. Words of them are decoded into one buffer,
// and what comes out is one text: a mail may hold a hundred thousand such words, and reading each by itself costs more than all
// together.
import { Decoding, ENCODED_CHARS_MIN } from './decoding.ts'
import { endOfBase64, isBase64At, type Codes, type Word } from '../characters.ts'
import { groupsIn } from './groups.ts'

/**
 * All that is decoded, with a character between that belongs to no number, word or token; '' where there is nothing. Words
 * shorter than `ENCODED_CHARS_MIN` are not given.
 */
export function decodedIn(given: Codes, words: readonly Word[]): string {
  const decoding = new Decoding()
  let end = 0
  for (const word of words) {
    for (let at = Math.max(word.start, end); at < word.end; at = end) {
      const line = endOfBase64(given, at)
      end = endOfEncoded(given, line)
      if (end === at) end++
      else if (end - at < ENCODED_CHARS_MIN || decoding.add(given.codes, at, end)) continue
      else if (end > line) addLines(given, at, end, decoding)
    }
  }
  for (const starts of groupsIn(given)) addGroups(given, starts, decoding)
  return decoding.text()
}

/** Lines that are no text together may be a value each, or one and a word that follows it. */
function addLines(given: Codes, start: number, end: number, decoding: Decoding): void {
  for (let at = start; at < end;) {
    const stop = endOfBase64(given, at)
    if (stop < end || at > start) decoding.add(given.codes, at, stop)
    at = lineAfter(given, stop)
    if (at === stop) return
  }
}

const EQUALS = 61

/** Lines of it, as mail programs write it, are one. Equals signs end it: what follows them is another value. */
function endOfEncoded(given: Codes, endOfLine: number): number {
  let end = endOfLine
  for (let next = lineAfter(given, end); next !== end; next = lineAfter(given, end)) end = endOfBase64(given, next)
  while (given.codes[end] === EQUALS) end++
  return end
}

/** Where the next line begins, when it goes on in the same letters. */
function lineAfter(given: Codes, end: number): number {
  const { codes } = given
  const next = codes[end] === RETURN ? end + 1 : end
  return codes[next] === NEW_LINE && isBase64At(given, next + 1) ? next + 1 : end
}

const [NEW_LINE, RETURN] = [10, 13]

/** A word of the same length may stand before those that belong together. */
const SKIPPED_MAX = 3

/** Their beginnings, and where the last one ends. What follows them is left out where it is no text. */
function addGroups({ codes }: Codes, starts: readonly number[], decoding: Decoding): void {
  const end = starts.at(-1)!
  for (let first = 0; first < starts.length - 1 && first <= SKIPPED_MAX; first++) {
    if (decoding.addBeginning(codes, starts[first]!, end)) return
  }
}
