// A received message as a mailbox keeps it: what people read, what is new in it, what it hides, and its files. Pure: it
// runs in the MIME thread, and every list and text of it is bounded, because it is copied to the main thread.
import { referredIn } from '../../mail/mime/cid-references.ts'
import { displayText } from '../../mail/mime/headers.ts'
import { safeFileName } from '../../mail/mime/file-name.ts'
import { MESSAGE_ID_CHARS_MAX, messageIdIn } from '../../mail/mime/message-id.ts'
import type { Mailbox, ParsedAttachment, ParsedMail } from '../../mail/mime/parsed-mail.ts'
import { extractFromHtml, extractFromText } from '../../mail/text/extract-reply.ts'
import { type HtmlText, linesToText, readHtml, shownBeside } from '../../mail/text/html-text.ts'
import { sanitiseHtml } from '../../mail/text/sanitise.ts'
import { snippetOf } from '../../mail/text/snippet.ts'
import { ADDRESSES_KEPT_MAX } from '../messages/kept-addresses.ts'
import { storableText } from '../storable.ts'

/** The name is safe for a file system. */
interface ReadAttachment extends ParsedAttachment {
  /** As the sender wrote it. */
  declaredName: string | null
}

/** The HTML is sanitised. */
export interface ReadMail extends Omit<ParsedMail, 'headers' | 'subject' | 'text' | 'attachments'> {
  /** Empty when there is none. */
  subject: string
  text: string
  /** New text without quote and signature. */
  extractedText: string
  snippet: string
  /** What the HTML hides from a reader but a machine would read. */
  hiddenText: string
  /** What the HTML says in comments and in its title. */
  unshownText: string
  /** What the HTML shows where it says something else than the text. */
  htmlText: string
  attachments: ReadAttachment[]
  /** Besides what the mail shows in its text. */
  hasAttachments: boolean
  /** What was cut or could not be read, for a person. */
  notes: string[]
}

const TEXT_CHARS_MAX = 2_000_000 // ten times the longest novel's chapter; the source keeps the rest
const HTML_READ_CHARS_MAX = 4_000_000
const SUBJECT_CHARS_MAX = 2_000
const REFERENCES_MAX = 100
const AUTHORS_MAX = 100
const NAME_CHARS_MAX = 500

export function readMail(mail: ParsedMail): ReadMail {
  const notes: string[] = []
  const body = readBody(mail, notes)
  const attachments = mail.attachments.filter(attachment => !isReportPart(attachment)).map(toAttachment)
  return {
    kind: 'mail',
    from: people(mail.from, AUTHORS_MAX, 'From', notes),
    sender: mail.sender && person(mail.sender),
    replyTo: people(mail.replyTo, ADDRESSES_KEPT_MAX, 'Reply-To', notes),
    to: people(mail.to, ADDRESSES_KEPT_MAX, 'To', notes),
    cc: people(mail.cc, ADDRESSES_KEPT_MAX, 'Cc', notes),
    subject: displayText(mail.subject ?? '')
      .slice(0, SUBJECT_CHARS_MAX)
      .toWellFormed(),
    messageId: messageIdIn(storableText(mail.messageId ?? '')),
    inReplyTo: messageIdIn(storableText(mail.inReplyTo ?? '')),
    references: ancestors(mail.references),
    date: mail.date,
    ...body,
    attachments,
    hasAttachments: hasOwnFiles(attachments, body.html),
    notes,
  }
}

type Body = Pick<ReadMail, 'text' | 'html' | 'extractedText' | 'snippet' | 'hiddenText' | 'unshownText' | 'htmlText'>

function readBody(mail: ParsedMail, notes: string[]): Body {
  const page = cut(mail.html ?? '', HTML_READ_CHARS_MAX, 'HTML', notes)
  const seen: HtmlText = mail.html === null ? { lines: [], hidden: '', unshown: '' } : readHtml(page)
  const clean = mail.html === null ? null : sanitiseHtml(page)
  if (clean?.isCut) notes.push('The HTML is too large and was cut.')
  const hasPlain = (mail.text ?? '').trim() !== ''
  const reports = mail.attachments
    .filter(isReportPart)
    .map(({ content }) => content.toString('utf8', 0, REPORT_BYTES_MAX).replaceAll(/\r\n?/g, '\n'))
  const shown = linesToText(seen.lines)
  const words = hasPlain ? mail.text! : shown
  const text = cut(storableText([words, ...reports].join('\n').trimEnd()), TEXT_CHARS_MAX, 'text', notes)
  const extractedText = cut(storableText(newText(hasPlain ? mail.text : null, seen)), TEXT_CHARS_MAX, 'text', [])
  return {
    text,
    html: clean === null ? null : storableText(clean.html),
    extractedText,
    snippet: snippetOf(extractedText || text),
    hiddenText: storableText(seen.hidden),
    unshownText: storableText(seen.unshown),
    htmlText: hasPlain ? cut(storableText(shownBeside(words, shown)), TEXT_CHARS_MAX, 'text', []) : '',
  }
}

/** Where the plain text shows no history and the HTML marks some, the marks are believed. */
function newText(plain: string | null, seen: HtmlText): string {
  const fromHtml = () => extractFromHtml(seen.lines)
  if (plain === null) return fromHtml().text
  const fromPlain = extractFromText(plain.slice(0, TEXT_CHARS_MAX))
  if (fromPlain.hasHistory || seen.lines.length === 0) return fromPlain.text
  const other = fromHtml()
  return other.hasHistory && other.text !== '' ? other.text : fromPlain.text
}

const REPORT_BYTES_MAX = 65_536

/** Machine-readable parts of a bounce without a name: readers show them as text. */
const isReportPart = ({ contentType, filename }: ParsedAttachment): boolean =>
  filename === null && REPORT_TYPES.has(contentType)

const REPORT_TYPES: ReadonlySet<string> = new Set([
  'message/delivery-status',
  'message/global-delivery-status',
  'text/rfc822-headers',
])

function cut(text: string, charsMax: number, what: string, notes: string[]): string {
  if (text.length <= charsMax) return text
  notes.push(`The ${what} is longer than ${charsMax} characters and was cut.`)
  return text.slice(0, charsMax)
}

function people(list: readonly Mailbox[], max: number, field: string, notes: string[]): Mailbox[] {
  if (list.length > max) notes.push(`${field} names more than ${max} addresses; the others were left out.`)
  return list.slice(0, max).map(person)
}

const person = ({ name, address }: Mailbox): Mailbox => ({
  name: displayText(name).slice(0, NAME_CHARS_MAX).toWellFormed(),
  address: storableText(address),
})

/** The first message of the thread and the nearest ones. */
function ancestors(references: readonly string[]): string[] {
  const unique = [...new Set(references.map(storableText))].filter(id => id.length <= MESSAGE_ID_CHARS_MAX)
  if (unique.length <= REFERENCES_MAX) return unique
  return [unique[0]!, ...unique.slice(1 - REFERENCES_MAX)]
}

/** Some clients call every file inline that they show, a PDF too: only an image that the HTML refers to is part of the text. */
function hasOwnFiles(attachments: readonly ReadAttachment[], html: string | null): boolean {
  const isImage = ({ contentType }: ReadAttachment): boolean => contentType.startsWith('image/')
  if (attachments.some(each => !each.inline || (each.filename !== null && !isImage(each)))) return true
  const images = attachments.filter(each => each.filename !== null)
  if (images.length === 0) return false
  const shown = referredIn(html ?? '', images)
  return images.some(({ contentId }) => contentId === null || !shown.has(contentId))
}

const toAttachment = ({ filename, contentType, contentId, ...rest }: ParsedAttachment): ReadAttachment => ({
  ...rest,
  filename: safeFileName(filename),
  declaredName: filename === null ? null : storableText(filename),
  contentType: /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(contentType) ? contentType : 'application/octet-stream',
  contentId: contentId === null ? null : storableText(contentId),
})
