// Transfer encodings of RFC 2045 §6 for bodies: 7bit where the text allows it, otherwise quoted-printable or base64,
// whichever is shorter, and base64 for long texts. Nothing here ever yields a byte over 127, so no receiver needs 8BITMIME.

import { isAscii } from 'node:buffer'

const CR = 13
const LF = 10
const TAB = 9
const SPACE = 32
const EQUALS = 61
const LINE_BYTES_MAX = 998 // RFC 5321 §4.5.3.1.6, the line break not counted
const QUOTED_LINE_CHARS = 75 // 76 with the `=` of a soft line break, RFC 2045 §6.7 (5)
const BASE64_LINE_BYTES = 57 // 76 characters, RFC 2045 §6.8
/** Nobody reads a longer text as it is on the wire, and quoting it takes four times as long and three times the memory. */
const QUOTED_BYTES_MAX = 512 * 1024

type EncodedText = { encoding: '7bit' | 'quoted-printable'; content: Buffer } | { encoding: 'base64'; raw: Buffer }

/** A text body ready to be written. Every line break, also a bare CR or LF, becomes CRLF. */
export function encodeText(text: string): EncodedText {
  const lines = withCrlf(text)
  const bytes = Buffer.from(lines, 'utf8')
  // RFC 2045 §2.7: 7bit allows any ASCII but NUL, in lines of at most 998. These tests run natively; the usual message
  // is never looked at byte by byte.
  if (isAscii(bytes) && !bytes.includes(0) && !hasLongLine(bytes)) return { encoding: '7bit', content: bytes }
  // Twice the bytes that UTF-8 adds is at least the number of its bytes over 127, each an escape of three characters.
  const escaped = 2 * (bytes.length - lines.length)
  if (bytes.length > QUOTED_BYTES_MAX || bytes.length + 2 * escaped > base64Size(bytes.length)) {
    return { encoding: 'base64', raw: bytes }
  }
  const content = encodeQuotedPrintable(bytes)
  return content.length <= base64Size(bytes.length)
    ? { encoding: 'quoted-printable', content }
    : { encoding: 'base64', raw: bytes }
}

/** Whether a line, its line break not counted, is longer than SMTP allows. */
export function hasLongLine(bytes: Buffer): boolean {
  let start = 0
  while (bytes.length - start > LINE_BYTES_MAX) {
    // The last line break that a permitted line starting here could have: several short lines are skipped at once.
    const end = bytes.lastIndexOf(LF, start + LINE_BYTES_MAX + 1)
    if (end < start) return true
    start = end + 1
  }
  return false
}

/** How many bytes `writeBase64` writes for so many bytes of content. */
export function base64Size(byteLength: number): number {
  const lines = Math.ceil(byteLength / BASE64_LINE_BYTES)
  return Math.ceil(byteLength / 3) * 4 + Math.max(lines - 1, 0) * 2
}

/**
 * Writes the content as base64 in lines of 76 into the target and returns the end. It works straight from buffer to buffer:
 * an attachment of 25 MB exists twice, in the clear and encoded, and never as a string in between.
 */
export function writeBase64(content: Buffer, target: Buffer, offset: number): number {
  for (let start = 0; start < content.length; start += BASE64_LINE_BYTES) {
    if (start > 0) {
      target[offset++] = CR
      target[offset++] = LF
    }
    offset = writeBase64Line(content, start, Math.min(start + BASE64_LINE_BYTES, content.length), target, offset)
  }
  return offset
}

const ALPHABET = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', 'latin1')

function writeBase64Line(content: Buffer, start: number, end: number, target: Buffer, offset: number): number {
  let at = start
  for (; at + 2 < end; at += 3) {
    const group = (content[at]! << 16) | (content[at + 1]! << 8) | content[at + 2]!
    target[offset] = ALPHABET[group >> 18]!
    target[offset + 1] = ALPHABET[(group >> 12) & 63]!
    target[offset + 2] = ALPHABET[(group >> 6) & 63]!
    target[offset + 3] = ALPHABET[group & 63]!
    offset += 4
  }
  if (at === end) return offset
  const left = end - at
  const group = (content[at]! << 16) | (left === 2 ? content[at + 1]! << 8 : 0)
  target[offset++] = ALPHABET[group >> 18]!
  target[offset++] = ALPHABET[(group >> 12) & 63]!
  target[offset++] = left === 2 ? ALPHABET[(group >> 6) & 63]! : EQUALS
  target[offset++] = EQUALS
  return offset
}

/** Ten million lines, split at once, would be as many strings in memory. */
const LINES_SLICE_CHARS = 32 * 1024

function withCrlf(text: string): string {
  const parts: string[] = []
  for (let start = 0; start < text.length;) {
    const next = start + LINES_SLICE_CHARS
    // Not between the two characters of one line break.
    const end = text[next - 1] === '\r' && text[next] === '\n' ? next + 1 : next
    parts.push(sliceWithCrlf(text.slice(start, end)))
    start = end
  }
  return parts.join('')
}

/** Split and joined, which takes a third of the time that replacing takes where there are very many. */
function sliceWithCrlf(text: string): string {
  const lines = text.includes('\r') ? text.split('\r\n').join('\n').split('\r').join('\n') : text
  return lines.split('\n').join('\r\n')
}

/** RFC 2045 §6.7 for bytes whose line breaks are CRLF. */
function encodeQuotedPrintable(bytes: Buffer): Buffer {
  const { length } = bytes
  // At worst each byte is an escape, and a soft break falls after 64 columns at the earliest, because the widest
  // character takes 12 of the 75.
  const target = Buffer.allocUnsafe(3 * length + 3 * (Math.floor((3 * length) / 64) + 1))
  let [at, offset, column] = [0, 0, 0]
  while (at < length) {
    const byte = bytes[at]!
    if (byte === CR) {
      target[offset++] = CR
      target[offset++] = LF
      at += 2
      column = 0
      continue
    }
    const runEnd = literalRun(bytes, at, Math.min(length, at + QUOTED_LINE_CHARS - column))
    if (runEnd > at) {
      column += runEnd - at
      while (at < runEnd) target[offset++] = bytes[at++]!
      continue
    }
    if (column + (isBlank(byte) ? 3 : WIDTHS[byte]!) > QUOTED_LINE_CHARS) {
      target[offset++] = EQUALS
      target[offset++] = CR
      target[offset++] = LF
      column = 0
      continue
    }
    target[offset++] = EQUALS
    target[offset++] = HEX[byte >> 4]!
    target[offset++] = HEX[byte & 15]!
    column += 3
    at++
  }
  return target.subarray(0, offset)
}

/** Where the bytes that stand for themselves end, at the limit at the latest. */
function literalRun(bytes: Buffer, start: number, limit: number): number {
  let end = start
  while (end < limit && WIDTHS[bytes[end]!] === 1) end++
  // A blank at the end of a line may be dropped by relays, so it is escaped there (RFC 2045 §6.7 (3)).
  const endsLine = end === bytes.length || bytes[end] === CR
  return endsLine && end > start && isBlank(bytes[end - 1]!) ? end - 1 : end
}

const HEX = Buffer.from('0123456789ABCDEF', 'latin1')

const isBlank = (byte: number): boolean => byte === SPACE || byte === TAB

/**
 * Bytes that quoted-printable needs before it writes a byte: 1 for what stands for itself, 3 for an escape. The whole
 * width of a UTF-8 character is asked for at its first byte and nothing at the others, because some mail clients decode
 * each line by itself and show rubbish where a character is spread over two.
 */
const WIDTHS = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === EQUALS) return 3
  if (isBlank(byte) || (byte > SPACE && byte < 127)) return 1
  if (byte < 0x80) return 3
  if (byte < 0xc0) return 0
  if (byte < 0xe0) return 6
  return byte < 0xf0 ? 9 : 12
})
