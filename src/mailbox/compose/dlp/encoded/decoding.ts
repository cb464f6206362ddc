// Decodes base64, and hexadecimal digits, where they stand for text: in UTF-8, or in UTF-16 as some shells write it.
import { isUtf8 } from 'node:buffer'
import { textOf } from '../characters.ts'

/** Long enough for the shortest of what is looked for. */
export const ENCODED_CHARS_MIN = 12
const DECODED_BYTES_MIN = 9
const CARET = 94

/** Six bits of each letter, of either alphabet; others are none. */
const NONE = 255
const values = new Uint8Array(128).fill(NONE)
for (const [value, letter] of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.split('').entries()) {
  values[letter.charCodeAt(0)] = value
}
values['-'.charCodeAt(0)] = 62
values['_'.charCodeAt(0)] = 63

const hexadecimal = new Uint8Array(128).fill(NONE)
for (const [value, digit] of '0123456789abcdef'.split('').entries()) {
  hexadecimal[digit.charCodeAt(0)] = value
  hexadecimal[digit.toUpperCase().charCodeAt(0)] = value
}

/** By the first three letters: one of the first two bytes is zero, or they are the mark of UTF-16. */
const mayBeUtf16 = (one: number, two: number, three: number): boolean =>
  (one === 0 && two < 16) || ((two & 15) === 0 && three < 4) || (one === 63 && (two === 63 || two === 47))

/** What text of most scripts of Europe is made of. */
const PLAIN = /[\t\n\r -~\xa0-\xff]/g

/** By what a byte begins in UTF-8: a character of one to four bytes, or none. Text has few control characters. */
const [CONTINUES, WRONG] = [5, 6]
const lengths = new Uint8Array(256).fill(1, 32, 127).fill(CONTINUES, 0x80, 0xc0).fill(2, 0xc2, 0xe0).fill(3, 0xe0, 0xf0)
lengths.fill(4, 0xf0, 0xf5)
for (const control of '\t\n\r') lengths[control.charCodeAt(0)] = 1
for (let byte = 0; byte < 256; byte++) if (lengths[byte] === 0) lengths[byte] = WRONG

export class Decoding {
  #bytes = Buffer.alloc(0)
  #length = 0
  /** What was decoded last is text to its end. */
  #isText = false

  /** Nothing where it is a word, an id or a file: what comes out is no text. */
  add(codes: Uint16Array, start: number, end: number): boolean {
    if (end - start < ENCODED_CHARS_MIN) return false
    const bytes = this.#decode(codes, start, end)
    if (this.#isText) return this.#accept(bytes)
    return this.#addUtf16(codes, start, end) || this.#addHex(codes, start, end) === end
  }

  /** As much of it as is text. */
  addBeginning(codes: Uint16Array, start: number, end: number): boolean {
    const bytes = this.#decode(codes, start, end)
    if (this.#addUtf16(codes, start, end)) return true
    return (bytes >= DECODED_BYTES_MIN && this.#accept(bytes)) || this.#addHex(codes, start, end) > start
  }

  /** Behind what there is: answers how many bytes of whole characters come out, and notes whether that is all. */
  #decode(codes: Uint16Array, start: number, end: number): number {
    this.#isText = false
    this.#reserve(end - start)
    const [bytes, before] = [this.#bytes, this.#length]
    let [bits, count, length, missing, whole] = [0, 0, before, 0, before]
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
      if (missing > 0 ? kind !== CONTINUES : kind >= CONTINUES) return whole - before
      missing = missing > 0 ? missing - 1 : kind - 1
      bytes[length++] = byte
      if (missing === 0) whole = length
    }
    this.#isText = missing === 0 && length - before >= DECODED_BYTES_MIN
    return whole - before
  }

  #accept(count: number): boolean {
    const end = this.#length + count
    if (!isUtf8(this.#bytes.subarray(this.#length, end))) return false
    // Belongs to no number, word or token.
    this.#bytes[end] = CARET
    this.#length = end + 1
    return true
  }

  /** A zero beside each letter of ASCII, on either side. */
  #addUtf16(codes: Uint16Array, start: number, end: number): boolean {
    if (!mayBeUtf16(values[codes[start]!]!, values[codes[start + 1]!]!, values[codes[start + 2]!]!)) return false
    const bytes = Buffer.from(textOf(codes.subarray(start, end)), 'base64')
    const decoded = bytes.subarray(0, bytes.length & ~1)
    if (decoded[0] === 0 || decoded[0] === 0xfe) decoded.swap16()
    const text = decoded.toString('utf16le').replace('\ufeff', '')
    const plain = text.match(PLAIN)?.length ?? 0
    if (plain < DECODED_BYTES_MIN || 2 * plain < text.length) return false
    return this.#write(text)
  }

  /** Answers where the pairs of digits end that stand for text of ASCII; the start, where those are too few. */
  #addHex(codes: Uint16Array, start: number, end: number): number {
    if (end - start < 2 * DECODED_BYTES_MIN) return start
    this.#reserve(end - start)
    let [length, high, at] = [this.#length, -1, start]
    for (; at < end; at++) {
      if (values[codes[at]!] === NONE) continue
      const digit = hexadecimal[codes[at]!]!
      if (digit === NONE || (high === -1 && (digit < 2 || digit > 7))) break
      if (high !== -1) this.#bytes[length++] = high * 16 + digit
      high = high === -1 ? digit : -1
    }
    return length - this.#length >= DECODED_BYTES_MIN && this.#accept(length - this.#length) ? at : start
  }

  #write(text: string): boolean {
    this.#reserve(4 * text.length)
    const count = this.#bytes.write(text, this.#length)
    return this.#accept(count)
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
