// Parses one message with postal-mime under caps. It runs inside the worker thread, because hostile mail can keep a
// parser busy for seconds; nothing else may call it on the main thread.

import PostalMime, { type Address as ParsedAddress, type Attachment, type Email } from 'postal-mime'
import { splitSource } from './headers.ts'
import type { Mailbox, ParsedAttachment, ParsedMail, Refused } from './parsed-mail.ts'

export const MIME_LIMITS = {
  sourceBytesMax: 52_428_800, // 50 MiB: twice our own attachments in base64; decoded copies must fit into 256 MB
  depthMax: 64, // the architecture's caps on levels and parts
  partsMax: 1_000,
  headerBytesMax: 1_048_576, // all headers of all parts; 1,000 parts of 300 bytes and a long trace fit three times
  // What is handed to the main thread is copied there, and may cost it 250 ms at most.
  headerFieldsMax: 2_000, // ten times what the longest trace has
  subjectCharsMax: 1_000, // a line of a header, RFC 5322 §2.1.1; no longer one is shown or tested for words
  mailboxesMax: 2_000, // per field
  referencesMax: 1_000,
  textCharsMax: 10_485_760, // as much as we would send ourselves; the source keeps the rest
}

/** The message, or why it was refused. */
export async function parseMail(source: Uint8Array<ArrayBuffer>): Promise<ParsedMail | Refused> {
  if (source.length > MIME_LIMITS.sourceBytesMax) return { kind: 'refused', reason: 'too_large' }
  if (countParts(Buffer.from(source.buffer, source.byteOffset, source.length)) > MIME_LIMITS.partsMax) {
    return { kind: 'refused', reason: 'too_many_parts' }
  }
  try {
    const email = await PostalMime.parse(source, {
      maxNestingDepth: MIME_LIMITS.depthMax,
      maxHeadersSize: MIME_LIMITS.headerBytesMax,
      // Attached messages stay attachments: they are evidence in reports, and following them would nest without end.
      forceRfc822Attachments: true,
    })
    // The count above believes simple boundaries only; this one is exact for what would be handed on.
    if (email.attachments.length > MIME_LIMITS.partsMax) return { kind: 'refused', reason: 'too_many_parts' }
    if (email.headers.length > MIME_LIMITS.headerFieldsMax) return { kind: 'refused', reason: 'header_too_large' }
    return toParsedMail(email, source)
  } catch (error) {
    return refusalFor(error)
  }
}

/**
 * How many lines open a part, without building anything: a message of a hundred thousand parts is refused before the
 * parser makes a hundred thousand objects. A boundary written in a form we do not read here makes every line that
 * could be one count.
 */
function countParts(source: Buffer): number {
  const text = source.toString('latin1')
  const boundaries = new Set<string>()
  let readable = true
  for (const match of text.matchAll(/boundary(\*?)[^=\r\n]{0,40}=[ \t]*(?:"([^"\r\n]{0,200})"|([^\s;"]{1,200}))?/gi)) {
    const value = match[2] ?? match[3]
    if (match[1] || !value || value.startsWith('(')) readable = false
    else boundaries.add(`--${value}`)
  }
  if (boundaries.size === 0 && readable) return 1
  let parts = 1
  for (const line of text.matchAll(/^--[^\r\n]{1,200}/gm)) {
    if (!readable || boundaries.has(line[0].trimEnd())) parts++
    if (parts > MIME_LIMITS.partsMax) break
  }
  return parts
}

function refusalFor(error: unknown): Refused {
  const message = error instanceof Error ? error.message : ''
  // postal-mime tells its limits apart only by their sentences.
  if (message.includes('nesting depth')) return { kind: 'refused', reason: 'too_deep' }
  if (message.includes('header size')) return { kind: 'refused', reason: 'header_too_large' }
  return { kind: 'refused', reason: 'malformed' }
}

function toParsedMail(email: Email, source: Uint8Array<ArrayBuffer>): ParsedMail {
  const isLost = !email.text && !email.html && email.attachments.length === 0
  return {
    kind: 'mail',
    headers: email.headers.map(({ originalKey, key, value }) => ({ name: originalKey, lowerName: key, value })),
    from: mailboxes(email.from)[0] ?? null,
    sender: mailboxes(email.sender)[0] ?? null,
    replyTo: mailboxList(email.replyTo),
    to: mailboxList(email.to),
    cc: mailboxList(email.cc),
    subject: email.subject?.slice(0, MIME_LIMITS.subjectCharsMax).toWellFormed() ?? null,
    messageId: email.messageId ?? null,
    inReplyTo: email.inReplyTo ?? null,
    references: email.references?.match(/<[^<>\s]+>/g)?.slice(-MIME_LIMITS.referencesMax) ?? [],
    date: readDate(email.date),
    text: isLost ? rawBody(source) : (email.text?.slice(0, MIME_LIMITS.textCharsMax) ?? null),
    html: email.html?.slice(0, MIME_LIMITS.textCharsMax) ?? null,
    attachments: email.attachments.map(toAttachment),
  }
}

/**
 * A multipart whose boundary is missing or never comes holds no parts for the parser, and all its words would be lost. They
 * are shown as they stand, as mail readers do.
 */
function rawBody(source: Uint8Array<ArrayBuffer>): string | null {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.length)
  const { bodyStart } = splitSource(bytes)
  const body = bytes.toString('utf8', bodyStart, bodyStart + RAW_BODY_BYTES_MAX)
  return body.trim() === '' ? null : body
}

const RAW_BODY_BYTES_MAX = 65_536 // people read the first screen of such a mail, and machines its first part

const mailboxList = (addresses: ParsedAddress[] | undefined): Mailbox[] =>
  (addresses ?? []).flatMap(mailboxes).slice(0, MIME_LIMITS.mailboxesMax)

function mailboxes(address: ParsedAddress | undefined): Mailbox[] {
  if (!address) return []
  const list = address.group ?? [address]
  return list.filter(entry => entry.address).map(({ name, address: mailbox }) => ({ name, address: mailbox }))
}

function readDate(date: string | undefined): Date | null {
  const parsed = new Date(date ?? '')
  return Number.isNaN(parsed.getTime()) ? null : parsed
}

function toAttachment({ filename, mimeType, contentId, disposition, related, content }: Attachment): ParsedAttachment {
  // Always a view of memory of its own, never of Node's shared pool: the worker gives it away with the result.
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content)
  return {
    filename,
    contentType: mimeType,
    contentId: contentId?.replace(/^<(.*)>$/, '$1') ?? null,
    inline: disposition === 'inline' || (related === true && disposition !== 'attachment'),
    content: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  }
}
