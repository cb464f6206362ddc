// One attachment as a MIME part: its content type made safe, its file name in every script, its bytes in base64.

import { isAscii } from 'node:buffer'
import { hasLongLine } from './body-encoding.ts'
import { bareContentId, checkContentId } from './custom-headers.ts'
import { parameterHeader } from './header-write.ts'
import { extensionOf } from './file-name.ts'
import { findBareLineBreak } from './headers.ts'
import { parseStructuredField, tokenParams } from './structured-field.ts'

export type Attachment = {
  filename: string | null
  contentType: string | null
  /** What `cid:` in the HTML refers to, with or without angle brackets. */
  contentId: string | null
  inline: boolean
  content: Buffer
}

/** A piece of the message: text, bytes, or bytes still to be written as base64. */
export type Piece = string | Buffer | { base64: Buffer }

const FILENAME_CHARS_MAX = 255 // the longest name common file systems take
const CONTENT_TYPE_CHARS_MAX = 255 // 127 for type and subtype each, RFC 6838 §4.2
const SHORT_NAME_CHARS_MAX = 60 // fits into one line with `filename=""` around it
const DEFAULT_TYPE = 'application/octet-stream'

/** The part with its header, a blank line and its body, without a line break at the end. */
export function attachmentPart(attachment: Attachment): Piece[] {
  const claimed = safeContentType(attachment.contentType ?? DEFAULT_TYPE)
  // RFC 2046 §5.2.1: a message inside a message may not be base64. Where it cannot go as it is, it goes as a file.
  const isMessage = claimed.startsWith('message/')
  const asIs = isMessage && isSevenBit(attachment.content)
  const contentType = isMessage && !asIs ? DEFAULT_TYPE : claimed
  const header =
    `Content-Type: ${contentType}\r\n` +
    `Content-Transfer-Encoding: ${asIs ? '7bit' : 'base64'}\r\n` +
    contentIdLine(attachment.contentId) +
    parameterHeader(
      'Content-Disposition',
      attachment.inline ? 'inline' : 'attachment',
      filenameParameters(attachment.filename?.trim() ? attachment.filename : nameFor(attachment, contentType)),
    ) +
    '\r\n'
  return [header, asIs ? attachment.content : { base64: attachment.content }]
}

/**
 * Of a message that goes as a file nobody would know what to open it with; and text in line is read as a part of the mail's own
 * text unless it has a name.
 */
function nameFor({ contentType: given, inline }: Attachment, contentType: string): string | null {
  if (contentType === DEFAULT_TYPE && /^\s*message\//i.test(given ?? '')) return 'message.eml'
  const [type = ''] = contentType.split(';', 1)
  return inline ? (NAMES_OF_TEXT[type] ?? null) : null
}

const NAMES_OF_TEXT: Record<string, string> = { 'text/plain': 'attachment.txt', 'text/html': 'attachment.html' }

const isSevenBit = (bytes: Buffer): boolean => isAscii(bytes) && findBareLineBreak(bytes) === -1 && !hasLongLine(bytes)

/**
 * A content type that cannot break the header or the structure: type and subtype as tokens, parameters only where they
 * are tokens too. A multipart would claim a structure its base64 does not have, so it becomes a plain file.
 */
export function safeContentType(text: string): string {
  const [essence = ''] = text.trim().split(';', 1)
  const type = essence.trim().toLowerCase()
  if (type.length > CONTENT_TYPE_CHARS_MAX || !/^[\w!#$&^+.-]+\/[\w!#$&^+.-]+$/.test(type)) return DEFAULT_TYPE
  if (type.startsWith('multipart/')) return DEFAULT_TYPE
  return type + (tokenParams(parseStructuredField(text)) ?? '')
}

function contentIdLine(contentId: string | null): string {
  return contentId && checkContentId(contentId) === null ? `Content-ID: <${bareContentId(contentId)}>\r\n` : ''
}

function filenameParameters(filename: string | null): string[] {
  // Cut before it is cleaned too: a caller decides how long it is.
  const name = shortened(
    shortened(filename ?? '', 4 * FILENAME_CHARS_MAX)
      .toWellFormed()
      .replace(/[\p{Cc}\u2028\u2029]/gu, ''),
  )
  if (name === '') return []
  // Readers decode what looks like an encoded-word, also between quotes.
  const isPlain = /^[ -~]*$/.test(name) && !name.includes('=?')
  if (name.length <= SHORT_NAME_CHARS_MAX && isPlain) return [`filename="${escapeQuoted(name)}"`]
  // Alone: readers that meet a plain name beside it, such as Python's, take that one.
  return extendedParameter('filename', name)
}

/** The end says what a file is, so it is kept. */
function shortened(name: string, charsMax = FILENAME_CHARS_MAX): string {
  if (name.length <= charsMax) return name
  const extension = extensionOf(name)
  const stem = name.slice(0, charsMax - extension.length)
  // Without half of a character.
  return (/[\ud800-\udbff]$/.test(stem) ? stem.slice(0, -1) : stem) + extension
}

const escapeQuoted = (text: string): string => text.replace(/["\\]/g, '\\$&')

/** RFC 2231 §3 and §4: percent-encoded UTF-8, in numbered sections that fit into a line and hold whole characters. */
function extendedParameter(name: string, value: string): string[] {
  const sections: string[] = []
  let section = "UTF-8''"
  for (const char of value) {
    const encoded = encodeURIComponent(char).replace(/[!'()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    if (section.length + encoded.length > SHORT_NAME_CHARS_MAX) {
      sections.push(section)
      section = ''
    }
    section += encoded
  }
  sections.push(section)
  if (sections.length === 1) return [`${name}*=${sections[0]}`]
  return sections.map((text, index) => `${name}*${index}*=${text}`)
}
