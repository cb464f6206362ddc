// What base64 in a text stands for, where that is text again. Words of its letters are decoded into one buffer, and what comes
// out is one text: a mail may hold a hundred thousand such words, and reading each by itself costs more than all together.
import { isUtf8 } from 'node:buffer'
import { endOfBase64, isBase64At, type Codes, type Word } from './characters.ts'

/** Long enough for the shortest of what is looked for. */
export const ENCODED_CHARS_MIN = 12
const DECODED_BYTES_MIN = 9

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

const [EQUALS, CARET] = [61, 94]

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

/** Six bits of each letter, of either alphabet; others are none. */
const NONE = 255
const values = new Uint8Array(128).fill(NONE)
for (const [value, letter] of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.split('').entries()) {
  values[letter.charCodeAt(0)] = value
}
values['-'.charCodeAt(0)] = 62
values['_'.charCodeAt(0)] = 63

/** By what a byte begins in UTF-8: a character of one to four bytes, or none. Text has few control characters. */
const [CONTINUES, WRONG] = [5, 6]
const lengths = new Uint8Array(256).fill(1, 32, 127).fill(CONTINUES, 0x80, 0xc0).fill(2, 0xc2, 0xe0).fill(3, 0xe0, 0xf0)
lengths.fill(4, 0xf0, 0xf5)
for (const control of '\t\n\r') lengths[control.charCodeAt(0)] = 1
for (let byte = 0; byte < 256; byte++) if (lengths[byte] === 0) lengths[byte] = WRONG

class Decoding {
  #bytes = Buffer.alloc(0)
  #length = 0

  /** Nothing where it is a word, an id or a file: what comes out is no text. */
  add(codes: Uint16Array, start: number, end: number): boolean {
    if (end - start < ENCODED_CHARS_MIN) return false
    this.#reserve(end - start)
    const [bytes, before] = [this.#bytes, this.#length]
    let [bits, count, length, missing, all] = [0, 0, before, 0, 0]
    for (let at = start; at < end; at++) {
      const value = values[codes[at]!]!
      if (value === NONE) continue
      bits = ((bits << 6) | value) & 0xffff
      count += 6
      if (count < 8) continue
      count -= 8
      const byte = (bits >> count) & 0xff
      const kind = lengths[byte]!
      // The first bytes tell most of what is no text.
      if (missing > 0 ? kind !== CONTINUES : kind >= CONTINUES) return false
      missing = missing > 0 ? missing - 1 : kind - 1
      all |= byte
      bytes[length++] = byte
    }
    if (length - before < DECODED_BYTES_MIN || missing > 0) return false
    if (all > 127 && !isUtf8(bytes.subarray(before, length))) return false
    bytes[length++] = CARET
    this.#length = length
    return true
  }

  text(): string {
    return this.#bytes.toString('utf8', 0, this.#length)
  }

  /** One byte more than can come out, for what stands between. */
  #reserve(chars: number): void {
    const needed = this.#length + Math.ceil((chars * 3) / 4) + 1
    if (needed <= this.#bytes.length) return
    const larger = Buffer.alloc(Math.max(2 * this.#bytes.length, needed, 1024))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
