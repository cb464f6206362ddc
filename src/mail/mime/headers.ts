// Reads and edits the header block of a raw message without touching its body. Tolerant of what stands in the fields,
// strict about line breaks: a bare CR, a bare LF or a NUL can make two mail systems see two different messages.

import { trimOf } from '../text/trim.ts'
import { decodeWords } from './encoded-words.ts'

export type HeaderField = {
  /** As written. Empty for a line that is no field. */
  name: string
  lowerName: string
  /** Unfolded and trimmed, encoded-words left as they are. */
  value: string
}

const CR = 13
const LF = 10
const HEADER_BYTES_MAX = 1_048_576 // a long trace is 50 KiB; a thousand recipients with their names are 100 KiB
const BLANK_LINE = Buffer.from('\r\n\r\n')

/**
 * The offset of the first bare CR, bare LF or NUL, or -1. What this finds must be refused, in and out: it is how one
 * SMTP transaction is made to look like two (SMTP smuggling, RFC 5321 §2.3.8).
 */
export function findBareLineBreak(source: Buffer): number {
  let start = 0
  while (start < source.length) {
    let end = Math.min(start + SCAN_BYTES, source.length)
    // A pair of CR and LF is never cut in two.
    if (source[end - 1] === CR && end < source.length) end++
    // The engine's own search is four times as fast as a loop over the bytes. In latin1 an index is an offset.
    const text = source.toString('latin1', start, end)
    const found = [text.search(/\r(?!\n)|(?<!\r)\n/), text.indexOf('\0')].filter(index => index !== -1)
    if (found.length > 0) return start + found.reduce((first, at) => Math.min(first, at))
    start = end
  }
  return -1
}

const SCAN_BYTES = 65_536 // small enough that the text of a large message never exists as a whole

/** Where the header ends, its last line break included, and where the body begins: after the blank line, if any. */
export function splitSource(source: Buffer): { headerEnd: number; bodyStart: number } {
  if (source[0] === CR && source[1] === LF) return { headerEnd: 0, bodyStart: 2 }
  const blank = source.indexOf(BLANK_LINE)
  if (blank === -1) return { headerEnd: source.length, bodyStart: source.length }
  return { headerEnd: blank + 2, bodyStart: blank + 4 }
}

/** Whether the header is longer than any honest one: such a message must be refused before its fields are edited. */
export function isHeaderTooLarge(source: Buffer): boolean {
  return splitSource(source).headerEnd > HEADER_BYTES_MAX
}

/** The fields of a raw message, in their order, as far as the header may reach. */
export function readHeader(source: Buffer): HeaderField[] {
  return readFields(source.toString('utf8', 0, Math.min(splitSource(source).headerEnd, HEADER_BYTES_MAX)))
}

/** All fields of a header block given as text, with CRLF or with bare LF, as reports quote it. */
export function readFields(block: string): HeaderField[] {
  return fieldSpans(block).map(({ start, colon, end }) => {
    // Of blanks alone: a form feed before a name makes it another name, for signatures as for readers.
    const name = trimOf(block.slice(start, colon), ' \t\r\n')
    const value = block.slice(colon === start ? start : colon + 1, end).replaceAll(/\r?\n/g, '')
    return { name, lowerName: name.toLowerCase(), value: value.trim() }
  })
}

/** The values of every field of that name, in their order. */
export function valuesOf(fields: readonly HeaderField[], name: string): string[] {
  const lowerName = name.toLowerCase()
  return fields.filter(field => field.lowerName === lowerName).map(field => field.value)
}

/** The value of the first field of that name, or null. */
export function valueOf(fields: readonly HeaderField[], name: string): string | null {
  const lowerName = name.toLowerCase()
  return fields.find(field => field.lowerName === lowerName)?.value ?? null
}

/** A value as people should see it: encoded-words decoded, control characters gone. */
export const displayValue = (value: string): string => displayText(decodeWords(value))

/** The same of what was decoded already: what looks like an encoded-word then is text. */
export const displayText = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()

/** The source without the fields whose lower-case name matches. The same buffer when there are none. */
export function removeFields(source: Buffer, matches: (lowerName: string) => boolean): Buffer {
  if (isHeaderTooLarge(source)) throw new RangeError('a message with so large a header is refused, not edited')
  // In latin1 an index of the text is an offset of the bytes.
  const block = source.toString('latin1', 0, splitSource(source).headerEnd)
  const kept: Buffer[] = []
  let start = 0
  for (const span of fieldSpans(block)) {
    if (!matches(block.slice(span.start, span.colon).trim().toLowerCase())) continue
    kept.push(source.subarray(start, span.start))
    start = span.end
  }
  return start === 0 ? source : Buffer.concat([...kept, source.subarray(start)])
}

/** The source with whole lines, each ending in CRLF, put before its header. */
export function prependLines(source: Buffer, lines: string): Buffer {
  return Buffer.concat([Buffer.from(lines, 'utf8'), source])
}

/** A field from its first character to the one after its last line break; `colon` equals `start` if it has none. */
type FieldSpan = { start: number; colon: number; end: number }

/** Where the fields of a header block lie. A line that begins with a blank belongs to the field above it. */
export function fieldSpans(block: string): FieldSpan[] {
  const spans: FieldSpan[] = []
  let start = 0
  let colon = -1
  while (start < block.length) {
    let end = lineEnd(block, start)
    while (block[end] === ' ' || block[end] === '\t') end = lineEnd(block, end)
    // Searched only once it has been passed: otherwise many lines without a colon would each search to the far end.
    if (colon < start) colon = nextColon(block, start)
    spans.push({ start, colon: colon < end ? colon : start, end })
    start = end
  }
  return spans
}

function nextColon(block: string, from: number): number {
  const colon = block.indexOf(':', from)
  return colon === -1 ? block.length : colon
}

function lineEnd(block: string, from: number): number {
  const feed = block.indexOf('\n', from)
  return feed === -1 ? block.length : feed + 1
}
