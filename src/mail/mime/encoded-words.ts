// RFC 2047 encoded-words: how a header carries text that is not printable ASCII. Writing keeps the splitting rules, which
// decide whether a subject survives; reading takes words in every broken form that clients write.

import { decodeBytes } from './charset.ts'
import { decodeBase64, decodeQuotedPrintable } from './transfer-encoding.ts'

// RFC 2047 §2: an encoded-word is at most 75 characters. `=?UTF-8?B?` and `?=` take 12 of them.
const PAYLOAD_CHARS_MAX = 75 - 12
// Base64 comes in groups of four characters for three bytes: 15 groups are 60 characters, 45 bytes.
const BASE64_BYTES_MAX = 45

/**
 * The text as encoded-words of at most 75 characters, separated by single spaces so that the header can be folded
 * between any two. No word holds half a character (RFC 2047 §5). Both forms are legal in a phrase and in a subject.
 * `column` is how much of the line the header's name has taken; the first word is made shorter by as much.
 */
export function encodeWords(text: string, column = 0): string {
  const wellFormed = text.toWellFormed()
  const bytes = Buffer.from(wellFormed, 'utf8')
  // Never below one character of four bytes, the longest there is: 12 characters in Q, 8 in B.
  const firstChars = Math.max(PAYLOAD_CHARS_MAX - column, 12)
  return quotedLength(bytes) <= base64Length(bytes.length)
    ? wordsInQ(wellFormed, firstChars)
    : wordsInB(bytes, Math.floor(firstChars / 4) * 3)
}

/** The text with its encoded-words decoded, for people to read. What cannot be decoded stays as it was. */
export function decodeWords(text: string): string {
  if (!text.includes('=?')) return text
  let decoded = ''
  let words: EncodedWord[] = []
  let at = 0
  for (const word of encodedWords(text)) {
    const between = text.slice(at, word.start)
    // Blanks between two words only fold the line.
    if (words.length === 0 || between.trim() !== '') {
      decoded += textOf(words) + between
      words = []
    }
    words.push(word)
    at = word.end
  }
  return decoded + textOf(words) + text.slice(at)
}

interface EncodedWord {
  start: number
  end: number
  charset: string
  bytes: Buffer
}

const WORD_START = /=\?([^?\s]{1,75})\?([bq])\?/gi

/** Every encoded-word, in order. One pass: the search for an end goes on where the last one found its end. */
function* encodedWords(text: string): Generator<EncodedWord> {
  let close = -1
  WORD_START.lastIndex = 0
  const starts = [...text.matchAll(WORD_START)]
  let read = 0
  for (const [n, match] of starts.entries()) {
    const start = match.index
    const from = start + match[0].length
    if (start < read) continue
    if (close < from && close !== text.length) close = indexOrEnd(text, '?=', from)
    // Some writers forget the end: the word then reaches to the next one, or to the first blank.
    const limit = starts[n + 1]?.index ?? text.length
    const isClosed = close < limit
    const payload = isClosed ? text.slice(from, close) : text.slice(from, limit).replace(/\s[^]*$/, '')
    if (!isClosed && !UNCLOSED.test(payload)) continue
    const end = isClosed ? close + 2 : from + payload.length
    read = end
    const isBase64 = match[2]!.toLowerCase() === 'b'
    yield { start, end, charset: match[1]!.toLowerCase(), bytes: isBase64 ? fromBase64(payload) : fromQ(payload) }
  }
}

/** What could be the text of a word: a search in the address of a page looks otherwise. */
const UNCLOSED = /^[\w+/=.,!*-]{4,}$/

function indexOrEnd(text: string, wanted: string, from: number): number {
  const index = text.indexOf(wanted, from)
  return index === -1 ? text.length : index
}

const fromBase64 = (payload: string): Buffer => decodeBase64(Buffer.from(payload, 'latin1'))

function fromQ(payload: string): Buffer {
  const blanks = payload.replaceAll('_', ' ').replaceAll(/=\s+([0-9a-f]{2})/gi, '=$1')
  return decodeQuotedPrintable(Buffer.from(blanks, 'utf8'))
}

/** Words of one charset are decoded together: many writers split in the middle of a character. */
function textOf(words: readonly EncodedWord[]): string {
  let text = ''
  for (let at = 0; at < words.length;) {
    let next = at + 1
    while (next < words.length && words[next]!.charset === words[at]!.charset) next++
    const run = words.slice(at, next)
    const joined = decodeBytes(Buffer.concat(run.map(({ bytes }) => bytes)), run[0]!.charset)
    // Where each word was whole and their sum is not (a shift state, a cut), they are read one by one.
    text += joined.includes('\ufffd') ? run.map(({ bytes, charset }) => decodeBytes(bytes, charset)).join('') : joined
    at = next
  }
  return text
}

/** Whether the text can stand in an unstructured header as it is and be read back unchanged. */
export function isPlainHeaderText(text: string): boolean {
  return /^(?:[!-~](?:[ -~]*[!-~])?)?$/.test(text) && !text.includes('=?')
}

const base64Length = (byteLength: number): number => Math.ceil(byteLength / 3) * 4

function quotedLength(bytes: Uint8Array): number {
  let length = 0
  for (const byte of bytes) length += QUOTED[byte]!.length
  return length
}

// RFC 2047 §5 (3): the narrow alphabet that is safe inside a phrase; a space becomes an underscore.
const QUOTED: string[] = Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte)
  if (char === ' ') return '_'
  return /[A-Za-z0-9!*+/-]/.test(char) ? char : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
})

function wordsInQ(text: string, firstChars: number): string {
  const words: string[] = []
  let word = ''
  let charsLeft = firstChars
  for (const char of text) {
    const quoted = quoteChar(char)
    if (word.length + quoted.length > charsLeft) {
      words.push(`=?UTF-8?Q?${word}?=`)
      word = ''
      charsLeft = PAYLOAD_CHARS_MAX
    }
    word += quoted
  }
  words.push(`=?UTF-8?Q?${word}?=`)
  return words.join(' ')
}

function quoteChar(char: string): string {
  const code = char.charCodeAt(0)
  if (code < 0x80) return QUOTED[code]!
  let quoted = ''
  for (const byte of Buffer.from(char, 'utf8')) quoted += QUOTED[byte]!
  return quoted
}

function wordsInB(bytes: Buffer, firstBytes: number): string {
  const words: string[] = []
  let start = 0
  while (start < bytes.length) {
    let end = Math.min(start + (start === 0 ? firstBytes : BASE64_BYTES_MAX), bytes.length)
    // Step back over continuation bytes (10xxxxxx) so that the cut falls before a whole character.
    while (end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--
    words.push(`=?UTF-8?B?${bytes.toString('base64', start, end)}?=`)
    start = end
  }
  return words.join(' ')
}
