// SMTP carries lines of at most 998 octets (RFC 5321 §4.5.3.1.6). Servers cut longer ones, refuse them or break them at
// any place, signatures included. So a message that has some is written anew where they are: header fields are folded,
// and the parts whose lines are too long get another transfer encoding.
import { base64Size, hasLongLine, writeBase64 } from './body-encoding.ts'
import { fieldSpans, readFields, removeFields, splitSource, valueOf, valuesOf, type HeaderField } from './headers.ts'
import { quotedPrintable, withSoftBreaks } from './quoted-printable.ts'

/** Deeper than any honest message; each level is read once more. */
const DEPTH_MAX = 10
const PARTS_MAX = 1_000
/** Quoted-printable keeps a text legible but takes 25 ms per MiB. */
const LEGIBLE_BYTES_MAX = 4 * 1024 * 1024
const BASE64_LINE_CHARS = 76 // RFC 2045 §6.8
const LINE_CHARS = 78 // the recommended length of a line, RFC 5322 §2.1.1

/**
 * The message in lines that SMTP can carry; null where that would break it: a signed part, a field without a blank to
 * fold at, a form that is not understood. The same buffer when it was fine.
 */
export function withoutLongLines(source: Buffer): Buffer | null {
  return shortEntity(source, { depth: 0, defaultType: 'text/plain' })
}

interface Context {
  depth: number
  /** RFC 2046 §5.1.5: parts of a digest are messages unless they say otherwise. */
  defaultType: 'text/plain' | 'message/rfc822'
}

/** A message or a part of one: its header, a blank line, its body. */
function shortEntity(entity: Buffer, context: Context): Buffer | null {
  if (!hasLongLine(entity)) return entity
  if (context.depth > DEPTH_MAX) return null
  const { headerEnd, bodyStart } = splitSource(entity)
  const fields = readFields(entity.toString('latin1', 0, headerEnd))
  const body = entity.subarray(bodyStart)
  const written = hasLongLine(body) ? shortBody(fields, body, context) : { body, encoding: null }
  if (!written) return null
  const header = shortHeader(encodedAs(entity.subarray(0, headerEnd), written.encoding))
  return header && Buffer.concat([header, entity.subarray(headerEnd, bodyStart), written.body])
}

interface WrittenBody {
  body: Buffer
  /** Null when it stays what it was. */
  encoding: 'quoted-printable' | 'base64' | null
}

function shortBody(fields: readonly HeaderField[], body: Buffer, { depth, defaultType }: Context): WrittenBody | null {
  // Of two that disagree nobody knows which one counts.
  if (valuesOf(fields, 'content-type').length > 1 || valuesOf(fields, 'content-transfer-encoding').length > 1)
    return null
  const contentType = valueOf(fields, 'content-type') ?? defaultType
  const type = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+/.exec(contentType)?.[0].toLowerCase() ?? ''
  const encoding = (valueOf(fields, 'content-transfer-encoding') ?? '7bit').toLowerCase()
  if (encoding === 'base64') return { body: rewrapped(body), encoding: null }
  if (encoding === 'quoted-printable') return { body: withSoftBreaks(body), encoding: null }
  if (!['7bit', '8bit', 'binary'].includes(encoding)) return null
  // A signature covers the bytes as they are (RFC 1847 §2.1).
  if (type === 'multipart/signed') return null
  if (type.startsWith('multipart/')) return unencoded(shortMultipart(contentType, body, depth))
  const next = { depth: depth + 1, defaultType: 'text/plain' } as const
  if (type === 'message/rfc822' || type === 'message/global') return unencoded(shortEntity(body, next))
  // RFC 2046 §5.2: no other encoding is allowed for these.
  if (type === '' || type.startsWith('message/')) return null
  return type.startsWith('text/') && body.length <= LEGIBLE_BYTES_MAX
    ? { body: quotedPrintable(body), encoding: 'quoted-printable' }
    : { body: base64(body), encoding: 'base64' }
}

const unencoded = (body: Buffer | null): WrittenBody | null => body && { body, encoding: null }

function shortMultipart(contentType: string, body: Buffer, depth: number): Buffer | null {
  const boundary = boundaryOf(contentType)
  const delimiters = boundary === null ? [] : delimitersIn(body, boundary)
  if (delimiters.length === 0 || delimiters.length > PARTS_MAX) return null
  const defaultType = /^multipart\/digest/i.test(contentType) ? 'message/rfc822' : 'text/plain'
  // What stands before the first delimiter and after the last is shown by nobody (RFC 2046 §5.1.1).
  const written: Buffer[] = [withinLimit(body.subarray(0, delimiters[0]!.start))]
  for (const [index, { start, end, isLast }] of delimiters.entries()) {
    written.push(body.subarray(start, end))
    const next = delimiters[index + 1]
    // The line break before a delimiter belongs to the delimiter.
    const breaks = next && endsWithBreak(body, next.start) ? 2 : 0
    const part = body.subarray(end, Math.max(end, (next?.start ?? body.length) - breaks))
    const short = isLast ? withinLimit(part) : shortEntity(part, { depth: depth + 1, defaultType })
    if (!short) return null
    written.push(short)
    if (breaks > 0 && next!.start > end) written.push(CRLF)
  }
  return Buffer.concat(written)
}

const endsWithBreak = (body: Buffer, at: number): boolean => body[at - 2] === 13 && body[at - 1] === 10

const withinLimit = (text: Buffer): Buffer => (hasLongLine(text) ? CRLF : text)
const CRLF = Buffer.from('\r\n')

/** Null when there is none, more than one, or one in a form that not everybody reads. */
function boundaryOf(contentType: string): string | null {
  const found = [...contentType.matchAll(/;\s*boundary\*?\d*\*?\s*=\s*(?:"([^"\\]*)"|([^\s;"]*))/gi)]
  const [match] = found
  const boundary = match?.[1] ?? match?.[2] ?? ''
  return found.length === 1 && !match![0].includes('*') && /^[ -~]{1,70}(?<! )$/.test(boundary) ? boundary : null
}

interface Delimiter {
  start: number
  /** After its line break. */
  end: number
  isLast: boolean
}

function delimitersIn(body: Buffer, boundary: string): Delimiter[] {
  const delimiters: Delimiter[] = []
  const mark = Buffer.from(`--${boundary}`, 'latin1')
  for (let start = body.indexOf(mark); start !== -1; start = body.indexOf(mark, start + mark.length)) {
    if (start > 0 && body[start - 1] !== 10) continue
    const feed = body.indexOf(10, start)
    const end = feed === -1 ? body.length : feed + 1
    const rest = body.toString('latin1', start + mark.length, Math.min(end, start + mark.length + 100))
    if (!/^(?:--)?[ \t]*(?:\r\n)?$/.test(rest)) continue
    const isLast = rest.startsWith('--')
    delimiters.push({ start, end, isLast })
    if (isLast || delimiters.length > PARTS_MAX) break
  }
  return delimiters
}

function encodedAs(header: Buffer, encoding: WrittenBody['encoding']): Buffer {
  if (encoding === null) return header
  const kept = removeFields(header, name => name === 'content-transfer-encoding')
  return Buffer.concat([kept, Buffer.from(`Content-Transfer-Encoding: ${encoding}\r\n`)])
}

function base64(body: Buffer): Buffer {
  const target = Buffer.allocUnsafe(base64Size(body.length))
  writeBase64(body, target, 0)
  return Buffer.concat([target, CRLF])
}

/** The same characters in lines of 76. What stands outside the alphabet is nothing to a decoder (RFC 2045 §6.8). */
function rewrapped(body: Buffer): Buffer {
  const text = body.toString('latin1').replaceAll(/[^A-Za-z0-9+/=]{1,1000}/g, '')
  const lines: string[] = []
  for (let at = 0; at < text.length; at += BASE64_LINE_CHARS) lines.push(text.slice(at, at + BASE64_LINE_CHARS))
  return Buffer.from(`${lines.join('\r\n')}\r\n`, 'latin1')
}

const ADDRESS_LISTS = new Set(['to', 'cc', 'reply-to', 'resent-to', 'resent-cc'])
const ID_LISTS = new Set(['references', 'in-reply-to'])

/** The header with its over-long fields folded; null when one has no place to fold at. */
function shortHeader(header: Buffer): Buffer | null {
  if (!hasLongLine(header)) return header
  // In latin1 a character is a byte, and comes back as it was.
  const block = header.toString('latin1')
  let written = ''
  for (const { start, colon, end } of fieldSpans(block)) {
    const field = block.slice(start, end)
    written += hasLongLine(Buffer.from(field, 'latin1')) ? folded(withBlanks(field, colon - start)) : field
  }
  const short = Buffer.from(written, 'latin1')
  return hasLongLine(short) ? null : short
}

/** The field in one line, with a blank wherever its form allows one: lists are often written without any. */
function withBlanks(field: string, colon: number): string {
  const line = field.replaceAll('\r\n', '')
  const lowerName = field.slice(0, colon).trim().toLowerCase()
  if (ID_LISTS.has(lowerName)) return line.replaceAll('><', '> <')
  if (!ADDRESS_LISTS.has(lowerName)) return line
  if (!/["(<]/.test(line)) return line.replaceAll(/,(?![ \t])/g, ', ')
  return line.replaceAll(ENCLOSED_OR_COMMA, (_, enclosed?: string) => enclosed ?? ', ')
}

/**
 * Commas in quotes, comments and brackets are left alone. What is not closed reaches as far as it can: were it no match,
 * each mark inside it would be tried as another opening, and 64 KiB of them would take seconds.
 */
const ENCLOSED_OR_COMMA = /("(?:[^"\\]|\\.)*"?|\((?:[^()\\]|\\.)*\)?|<[^<>]*>?)|,(?![ \t])/g

/**
 * Broken before blanks, so that unfolding gives the line back, and never so that a line is nothing but blanks. By index: a line
 * may be 30,000 words, and a match for each costs ten times as much.
 */
function folded(line: string): string {
  let written = ''
  let [start, column, at] = [0, 0, 0]
  for (;;) {
    let end = at
    while (isBlank(line.charCodeAt(end))) end += 1
    if (end === line.length) return `${written}${line.slice(start, at)}\r\n`
    while (end < line.length && !isBlank(line.charCodeAt(end))) end += 1
    column += end - at
    if (at > start && column > LINE_CHARS && isBlank(line.charCodeAt(at))) {
      written += `${line.slice(start, at)}\r\n`
      start = at
      column = end - at
    }
    at = end
  }
}

const isBlank = (code: number): boolean => code === 32 || code === 9
