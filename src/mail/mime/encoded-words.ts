// RFC 2047 encoded-words: how a header carries text that is not printable ASCII. Encoding is our own, because the
// splitting rules decide whether a subject survives; decoding is postal-mime's, which knows the charsets of the world.

import { decodeWords as decodeWordsOfAnyCharset } from 'postal-mime'

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
  return text.includes('=?') ? decodeWordsOfAnyCharset(text) : text
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
  let room = firstChars
  for (const char of text) {
    const quoted = quoteChar(char)
    if (word.length + quoted.length > room) {
      words.push(`=?UTF-8?Q?${word}?=`)
      word = ''
      room = PAYLOAD_CHARS_MAX
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
