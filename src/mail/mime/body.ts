// What of a message is its text, and what is attached to it.
import { escapeHtml } from '../text/escape-html.ts'
import { decodeBytes } from './charset.ts'
import { unflow } from './flowed.ts'
import type { Part } from './part-tree.ts'
import type { ParsedAttachment } from './parsed-mail.ts'
import { fileNameOf, tokenParams } from './structured-field.ts'
import { decodeTransfer } from './transfer-encoding.ts'

/** A piece of the body, in the forms that the sender gave it: at least one. */
export interface BodyPiece {
  plain: string | null
  html: string | null
}

/** Kinds of text that are documents, not words to the reader. */
const DOCUMENTS = new Set(
  `calendar x-vcalendar vcard x-vcard directory csv tab-separated-values rfc822-headers x-amp-html xml css javascript rtf`
    .split(' ')
    .map(name => `text/${name}`),
)

/** Text beyond this many characters is left to the source. */
interface BodyLimits {
  textCharsMax: number
}

export function readBody(root: Part, { textCharsMax }: BodyLimits) {
  const attachments: ParsedAttachment[] = []
  let chars = 0
  const collect = (part: Part, isRelated: boolean): BodyPiece[] => {
    if (part.children.length > 0) {
      const inRelated = isRelated || part.type.value === 'multipart/related'
      const pieces = part.children.map(child => collect(child, inRelated))
      return part.type.value === 'multipart/alternative' ? oneOf(pieces) : pieces.flat()
    }
    const name = fileNameOf(part.disposition, part.type)
    if (part.isMultipart || isText(part, name)) {
      const piece = chars > textCharsMax ? null : textPiece(part, textCharsMax)
      chars += piece?.plain?.length ?? piece?.html?.length ?? 0
      return piece ? [piece] : []
    }
    attachments.push(attachmentOf(part, name, isRelated))
    return []
  }
  const pieces = collect(root, false)
  return { pieces, attachments }
}

/** A text with a name is a file, whatever its disposition: that is how readers show it. */
function isText({ type, disposition }: Part, name: string | null): boolean {
  return (
    type.value.startsWith('text/') && !DOCUMENTS.has(type.value) && name === null && disposition.value !== 'attachment'
  )
}

/**
 * The same words in several forms. Each form is taken from the last branch that has it: branches are in order of rising
 * preference (RFC 2046 §5.1.4).
 */
function oneOf(branches: readonly BodyPiece[][]): BodyPiece[] {
  const plain = branches.findLast(pieces => pieces.some(piece => piece.plain?.trim() && piece.html === null))
  const html = branches.findLast(pieces => pieces.some(piece => piece.html?.trim()))
  if (!html || !plain || plain === html) return html ?? plain ?? branches.find(pieces => pieces.length > 0) ?? []
  return [{ plain: plain.map(piece => piece.plain ?? '').join('\n'), html: html.map(htmlOf).join('\n') }]
}

const htmlOf = ({ plain, html }: BodyPiece): string => html ?? textAsHtml(plain ?? '')

const textAsHtml = (text: string): string => `<div>${escapeHtml(text).replaceAll(/\r?\n/g, '<br>\n')}</div>`

/** The HTML of the whole body, or null when no piece has any. */
export const htmlOfBody = (pieces: readonly BodyPiece[]): string | null =>
  pieces.some(({ html }) => html !== null) ? pieces.map(htmlOf).join('\n') : null

/** Charsets of four bytes for a character at the most, escapes of three for a byte. */
const BYTES_PER_CHAR_MAX = 12

function textPiece(part: Part, charsMax: number): BodyPiece | null {
  // A multipart without parts: its words stand where its parts should.
  const body = part.body.subarray(0, charsMax * BYTES_PER_CHAR_MAX)
  const bytes = decodeTransfer(body, part.isMultipart ? '' : part.encoding)
  if (bytes.length === 0) return null
  const isHtml = part.type.value === 'text/html'
  const charset = part.type.params.get('charset') ?? (isHtml ? metaCharset(bytes) : null)
  const text = decodeBytes(bytes, charset).slice(0, charsMax)
  if (isHtml) return { plain: null, html: text }
  const { params } = part.type
  const isFlowed = /^flowed$/i.test(params.get('format') ?? '')
  return { plain: isFlowed ? unflow(text, /^yes$/i.test(params.get('delsp') ?? '')) : text, html: null }
}

const META_BYTES = 1_024 // where the HTML standard looks for it

function metaCharset(bytes: Buffer): string | null {
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w:-]{2,40})/i.exec(bytes.toString('latin1', 0, META_BYTES))?.[1] ?? null
}

/** Of its own memory where it was decoded, else a view of the source. */
function attachmentOf(part: Part, filename: string | null, isRelated: boolean): ParsedAttachment {
  const contentId = part.fields
    .find(({ lowerName }) => lowerName === 'content-id')
    ?.value.slice(0, CONTENT_ID_CHARS_MAX)
  const id = contentId?.trim().replace(/^<(.*)>$/, '$1')
  return {
    filename,
    contentType: part.type.value.slice(0, TYPE_CHARS_MAX),
    typeParams: tokenParams(part.type),
    contentId: id ? id : null,
    inline: part.disposition.value === 'inline' || (isRelated && !!id && part.disposition.value !== 'attachment'),
    content: decodeTransfer(part.body, part.encoding),
  }
}

const CONTENT_ID_CHARS_MAX = 998
const TYPE_CHARS_MAX = 255 // RFC 6838 §4.2 allows 127 on each side
