// Makes a message fit for receivers that know only ASCII (RFC 5321 without 8BITMIME or SMTPUTF8), where that can be
// done without taking it apart: a body that is one text, and header fields that some programs write in raw UTF-8.
import { isAscii, isUtf8 } from 'node:buffer'
import { hasLongLine } from '../../mail/mime/body-encoding.ts'
import { addressHeader, textHeader } from '../../mail/mime/header-write.ts'
import { valueOf, type HeaderField } from '../../mail/mime/headers.ts'
import { quotedPrintable } from '../../mail/mime/quoted-printable.ts'
import { mailboxesIn } from './addressed.ts'

/** Fields to leave out, lines to put in, and the body if it changed. */
export interface Rewrite {
  dropped: ReadonlySet<string>
  lines: string
  body: Buffer | null
}

/**
 * Encoding takes three times the bytes at worst, and 25 ms per MiB. More goes as it is, to receivers that take it; lines
 * that are too long for any of them are seen to in mail/long-lines.
 */
const TEXT_BYTES_MAX = 4 * 1024 * 1024
const HEADER_CHARS_MAX = 131_072

/** The body in quoted-printable when it is a single text that SMTP cannot carry as it is; null otherwise. */
export function textInSevenBits(fields: readonly HeaderField[], body: Buffer): Rewrite | null {
  const isPlainBytes = isAscii(body)
  if ((isPlainBytes && !hasLongLine(body)) || body.length > TEXT_BYTES_MAX) return null
  const contentType = valueOf(fields, 'content-type')
  const encoding = valueOf(fields, 'content-transfer-encoding')?.toLowerCase() ?? '7bit'
  if (contentType !== null && !/^text\//i.test(contentType)) return null
  if (!/^(?:7bit|8bit|binary)$/.test(encoding)) return null
  let lines = 'Content-Transfer-Encoding: quoted-printable\r\n'
  if (valueOf(fields, 'mime-version') === null) lines += 'MIME-Version: 1.0\r\n'
  // RFC 1428 §3: what is not said and cannot be UTF-8 is named unknown.
  const charset = isPlainBytes ? 'us-ascii' : isUtf8(body) ? 'utf-8' : 'unknown-8bit'
  if (contentType === null) lines += `Content-Type: text/plain; charset=${charset}\r\n`
  return { dropped: new Set(['content-transfer-encoding']), lines, body: quotedPrintable(body) }
}

const ADDRESS_FIELDS = new Set(['from', 'sender', 'reply-to', 'to', 'cc', 'resent-from', 'resent-to', 'resent-cc'])
/** Encoded-words do not belong there: parameters have another form (RFC 2231), ids and addresses of pages have none. */
const isStructured = (lowerName: string): boolean =>
  /^(?:content-|list-|arc-|dkim-|received$|message-id$|in-reply-to$|references$|resent-message-id$)/.test(lowerName)

/** Fields in raw UTF-8 as encoded-words (RFC 2047), as far as their form allows it. */
export function fieldsInAscii(fields: readonly HeaderField[]): Rewrite | null {
  const raw = new Set(fields.filter(({ value }) => !isAsciiText(value)).map(({ lowerName }) => lowerName))
  const chars = fields.reduce((sum, { value }) => sum + value.length, 0)
  if (raw.size === 0 || chars > HEADER_CHARS_MAX) return null
  const dropped = new Set<string>()
  let lines = ''
  // All of one name or none: they are taken out by their name.
  for (const [lowerName, same] of Map.groupBy(fields, field => field.lowerName)) {
    const written = raw.has(lowerName) ? same.map(asciiLine) : [null]
    if (written.includes(null)) continue
    dropped.add(lowerName)
    lines += written.join('')
  }
  return dropped.size > 0 ? { dropped, lines, body: null } : null
}

function asciiLine({ name, lowerName, value }: HeaderField): string | null {
  if (isStructured(lowerName)) return null
  if (!ADDRESS_FIELDS.has(lowerName)) return textHeader(name, value)
  const { mailboxes, isWhole } = mailboxesIn(value)
  const isPossible = isWhole && mailboxes.length > 0 && mailboxes.every(({ smtputf8 }) => !smtputf8)
  return isPossible ? addressHeader(name, mailboxes) : null
}

const isAsciiText = (text: string): boolean => /^[\0-\x7f]*$/.test(text)
