// A message as a model is shown it: header lines, the text and what attachments say, each up to a limit. Where something
// was left out the text says so.
import { trimEndOf } from '../../mail/text/trim.ts'
import type { Db } from '../../platform/db/database.ts'
import type { MessageRow } from '../messages/find.ts'
import { findTextBeginnings, listAttachedTexts, type AttachedText } from './mail-queries.ts'

/** Bytes, because a token is a byte at the least: together they bound what a call may cost. */
const NEW_TEXT_BYTES_MAX = 24 * 1024
const WHOLE_TEXT_BYTES_MAX = 16 * 1024
const ATTACHMENT_BYTES_MAX = 16 * 1024
const ATTACHED_TEXTS_BYTES_MAX = 24 * 1024
const HEADER_BYTES_MAX = 2 * 1024
const ATTACHMENTS_MAX = 50
const ADDRESSES_MAX = 50

export async function readMailText(db: Db, row: MessageRow): Promise<string> {
  const { source_id: sourceId } = row
  if (sourceId === null) return headerOf(row, [])
  const [attachments, texts] = await Promise.all([
    listAttachedTexts(db, sourceId, { limit: ATTACHMENTS_MAX + 1, charsMax: ATTACHMENT_BYTES_MAX }),
    findTextBeginnings(db, sourceId, NEW_TEXT_BYTES_MAX),
  ])
  const parts = [headerOf(row, attachments)]
  if (texts) {
    const { text, extracted_text, is_text_cut, is_extracted_text_cut } = texts
    const hasQuotes = text !== extracted_text
    const title = hasQuotes ? 'New text of the email' : 'Text of the email'
    parts.push(section(title, clipped(extracted_text, NEW_TEXT_BYTES_MAX, is_extracted_text_cut)))
    if (hasQuotes)
      parts.push(section('Whole text, with what it quotes', clipped(text, WHOLE_TEXT_BYTES_MAX, is_text_cut)))
  }
  return [...parts, ...attachedParts(attachments)].join('\n\n')
}

function headerOf(row: MessageRow, attachments: readonly AttachedText[]): string {
  const names = attachments.slice(0, ATTACHMENTS_MAX).map(({ filename, content_type, size }) => {
    const name = filename ?? 'unnamed'
    return `${name} (${content_type}, ${size} bytes)`
  })
  const fields: [string, string][] = [
    ['From', row.from_text],
    ['To', addresses(row.to_list)],
    ['Cc', addresses(row.cc_list)],
    ['Reply-To', row.reply_to ?? ''],
    ['Subject', row.subject],
    ['Date', row.date?.toISOString() ?? ''],
    [row.direction === 'in' ? 'Received' : 'Sent', row.received_at.toISOString()],
    ['Attachments', names.join(', ') + (attachments.length > ATTACHMENTS_MAX ? ', and more' : '')],
  ]
  return fields
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${clipped(oneLine(value), HEADER_BYTES_MAX, false)}`)
    .join('\n')
}

const addresses = (list: readonly string[]): string =>
  list.slice(0, ADDRESSES_MAX).join(', ') +
  (list.length > ADDRESSES_MAX ? `, and ${list.length - ADDRESSES_MAX} more` : '')

/** One after the other until the bytes for all of them are used up. */
function attachedParts(attachments: readonly AttachedText[]): string[] {
  let bytesLeft = ATTACHED_TEXTS_BYTES_MAX
  return attachments.slice(0, ATTACHMENTS_MAX).flatMap(({ filename, text, is_cut }, index) => {
    if (text === null) return []
    const shown = clipped(text, Math.min(bytesLeft, ATTACHMENT_BYTES_MAX), is_cut)
    bytesLeft = Math.max(0, bytesLeft - Buffer.byteLength(shown))
    return [section(`Text of attachment ${index + 1}, ${clipped(oneLine(filename ?? 'unnamed'), 200, false)}`, shown)]
  })
}

const section = (title: string, text: string): string => `--- ${title} ---\n${text}`

const oneLine = (text: string): string => text.replace(/\s+/g, ' ')

/** Without half a character at its end. `isCut`: there was more before we got it. */
function clipped(text: string, bytesMax: number, isCut: boolean): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return isCut ? `${text}\n${LEFT_OUT}` : text
  const shown = trimEndOf(bytes.toString('utf8', 0, bytesMax), '\ufffd')
  return `${shown}\n${LEFT_OUT}`
}

const LEFT_OUT = '[The rest was left out for its length.]'
