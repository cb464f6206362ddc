// Composes the final source of a message. Our own writer, because it is on the hot path: one pass over the text, one
// buffer for the result, where a stream-based composer costs many times as much. Bcc has no way in.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Address } from '../address/address.ts'
import { base64Size, encodeText, writeBase64 } from './body-encoding.ts'
import { referredIn } from './cid-references.ts'
import { bareContentId, isMessageId } from './custom-headers.ts'
import { addressHeader, customHeader, formatDate, headerLine, textHeader } from './header-write.ts'
import { type Attachment, attachmentPart, type Piece } from './attachment.ts'

export type OutgoingMessage = {
  from: Address
  to: readonly Address[]
  cc: readonly Address[]
  replyTo: readonly Address[]
  subject: string | null
  text: string | null
  html: string | null
  /** Custom and service headers in the order they are written, each accepted by `checkCustomHeader`. */
  headers: readonly (readonly [name: string, value: string])[]
  attachments: readonly Attachment[]
  /** With its angle brackets. A Message-ID among the headers wins over it. */
  messageId: string
  date: Date
}

/**
 * The message as it goes on the wire: CRLF everywhere, no line over 998 bytes, and ASCII only, save for local parts in
 * UTF-8, which have no other form. 10 MiB of text take a fifth of a second.
 */
export function composeMessage(message: OutgoingMessage): Buffer {
  const body = bodyPart(message)
  const pieces: Piece[] = [messageHeader(message), ...body]
  if (!endsInLineBreak(body.at(-1)!)) pieces.push('\r\n')
  return join(pieces)
}

function messageHeader(message: OutgoingMessage): string {
  let custom = ''
  let customId = ''
  for (const [name, value] of message.headers) {
    if (name.toLowerCase() !== 'message-id') custom += customHeader(name, value)
    else customId ||= value
  }
  const messageId = customId || message.messageId
  assert(isMessageId(messageId), 'a message id was made by us or accepted by checkCustomHeader')
  // A Message-ID is never folded: several receivers read only its first line.
  return (
    addressHeader('From', [message.from]) +
    (message.to.length > 0 ? addressHeader('To', message.to) : '') +
    (message.cc.length > 0 ? addressHeader('Cc', message.cc) : '') +
    (message.replyTo.length > 0 ? addressHeader('Reply-To', message.replyTo) : '') +
    (message.subject === null ? '' : textHeader('Subject', message.subject)) +
    headerLine('Date', formatDate(message.date)) +
    `Message-ID: ${messageId}\r\n` +
    custom +
    'MIME-Version: 1.0\r\n'
  )
}

/**
 * mixed( related( alternative( text, html ), inline… ), attachments… ), with only the levels that are needed. A file
 * belongs to the HTML when it has a content id and is inline or referred to.
 */
function bodyPart({ text, html, attachments }: OutgoingMessage): Piece[] {
  const referred = html === null ? new Set<string>() : referredIn(html, attachments)
  const belongsToHtml = ({ contentId, inline }: Attachment): boolean =>
    html !== null && Boolean(contentId) && (inline || referred.has(bareContentId(contentId!)))
  const related = attachments.filter(belongsToHtml)
  const mixed = attachments.filter(attachment => !belongsToHtml(attachment))

  const readable: Piece[][] = []
  if (text !== null || (html === null && attachments.length === 0)) {
    readable.push(textPart('plain', text ?? ''))
  }
  if (html !== null) readable.push(textPart('html', html))

  const boundary = readable.length + attachments.length > 1 ? randomUUID() : ''
  const alternative = multipart('alternative', readable, `=_a${boundary}`)
  // RFC 2387 §3.1: the type of the first part is named in the heading.
  const heading = `related; type="${readable.length > 1 ? 'multipart/alternative' : 'text/html'}"`
  const page = multipart(heading, [...alternative, ...related.map(attachmentPart)], `=_r${boundary}`)
  return multipart('mixed', [...page, ...mixed.map(attachmentPart)], `=_m${boundary}`)[0]!
}

function textPart(subtype: 'plain' | 'html', text: string): Piece[] {
  const encoded = encodeText(text)
  const type = `Content-Type: text/${subtype}; charset=utf-8\r\n`
  const header = `${type}Content-Transfer-Encoding: ${encoded.encoding}\r\n\r\n`
  return [header, encoded.encoding === 'base64' ? { base64: encoded.raw } : encoded.content]
}

/**
 * The parts under one heading; fewer than two need none. The boundary begins with `=_`, which neither quoted-printable
 * nor base64 can produce, and holds 122 random bits, which no 7bit text can guess (RFC 2046 §5.1.1).
 */
function multipart(heading: string, parts: Piece[][], boundary: string): Piece[][] {
  if (parts.length < 2) return parts
  const pieces: Piece[] = [`Content-Type: multipart/${heading};\r\n boundary="${boundary}"\r\n`]
  for (const part of parts) {
    pieces.push(`\r\n--${boundary}\r\n`)
    for (const piece of part) pieces.push(piece)
  }
  pieces.push(`\r\n--${boundary}--\r\n`)
  return [pieces]
}

function endsInLineBreak(piece: Piece): boolean {
  if (typeof piece === 'string') return piece.endsWith('\r\n')
  if ('base64' in piece) return piece.base64.length === 0
  return piece.length === 0 || piece[piece.length - 1] === 10
}

function join(pieces: Piece[]): Buffer {
  let size = 0
  for (const piece of pieces) size += pieceSize(piece)
  // In memory of its own where it is large: it may go from thread to thread.
  const target = Buffer.allocUnsafe(size)
  let offset = 0
  for (const piece of pieces) {
    if (typeof piece === 'string') offset += target.write(piece, offset, 'utf8')
    else if ('base64' in piece) offset = writeBase64(piece.base64, target, offset)
    else offset += piece.copy(target, offset)
  }
  return target
}

function pieceSize(piece: Piece): number {
  if (typeof piece === 'string') return Buffer.byteLength(piece)
  return 'base64' in piece ? base64Size(piece.base64.length) : piece.length
}
