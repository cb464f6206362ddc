// The message that is answered or forwarded: what of it goes into the new one.
import { parseAddress, type Address } from '../../mail/address/address.ts'
import type { Attachment } from '../../mail/mime/attachment.ts'
import { parseMailboxes } from '../../mail/mime/mailbox-list.ts'
import type { Mailbox } from '../../mail/mime/parsed-mail.ts'
import type { Db } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import { notFound } from '../../platform/refusal.ts'
import { attachmentsTooLarge } from '../../sending/messages/attachments.ts'
import { ATTACHMENT_BYTES_MAX } from '../../sending/messages/limits.ts'
import { findMessageTexts, requireMessageInReach } from '../messages/find.ts'
import { ADDRESSES_KEPT_MAX } from '../messages/kept-addresses.ts'
import { findAttachment, findSourceContent, findThreadTaint, listAttachmentSizes } from './original-queries.ts'

/** For the size of a draft that becomes a reply or a forward. */
export { forwardedBytes, quotedBytes } from './original-queries.ts'

export interface Original {
  id: string
  inboxId: string
  threadId: string
  sourceId: string | null
  isOut: boolean
  from: Address[]
  replyTo: Address[]
  to: Address[]
  cc: Address[]
  /** As many as were kept, with those that nobody can write to. */
  toCount: number
  ccCount: number
  /** As a reader is shown it. */
  fromText: string
  toText: string
  ccText: string
  subject: string
  rfcId: string | null
  references: string[]
  at: Date
  /** It, or another message of its thread. */
  isTainted: boolean
  /** By the shield: what its sender wrote into it goes into no other mail. */
  isBlocked: boolean
}

export async function requireOriginal(db: Db, reach: Reach, id: string): Promise<Original> {
  const row = await requireMessageInReach(db, reach, id)
  const thread = await findThreadTaint(db, row.thread_id)
  // Each part of it is read by itself, and it may go in between.
  if (!thread) throw notFound('message')
  // The names in its addresses are its sender's words like its text.
  const named = (addresses: Address[]): Address[] =>
    row.is_blocked ? addresses.map(each => ({ ...each, name: null })) : addresses
  return {
    id: row.id,
    inboxId: row.inbox_id,
    threadId: row.thread_id,
    sourceId: row.source_id,
    isOut: row.direction === 'out',
    from: named(addressesIn([row.from_text])),
    replyTo: row.reply_to === null ? [] : named(addressesIn([row.reply_to])),
    to: named(addressesIn(row.to_list)),
    cc: named(addressesIn(row.cc_list)),
    toCount: row.to_list.length,
    ccCount: row.cc_list.length,
    fromText: row.from_text,
    toText: row.to_list.join(', '),
    ccText: row.cc_list.join(', '),
    subject: row.is_blocked ? '' : row.subject,
    rfcId: row.rfc_message_id,
    references: row.reference_ids,
    at: row.date ?? row.received_at,
    isTainted: row.is_tainted || thread.is_tainted,
    isBlocked: row.is_blocked,
  }
}

/**
 * Each text is one address as we wrote it down, or several of them, or what a stranger wrote. Mail comes with addresses that
 * nobody can write to; those are left out.
 */
const addressesIn = (texts: readonly string[]): Address[] =>
  texts.flatMap(text => parseAddress(text) ?? parseMailboxes(text, ADDRESSES_KEPT_MAX).flatMap(writable))

const writable = ({ name, address }: Mailbox): Address[] => {
  const parsed = parseAddress(address)
  return parsed ? [{ ...parsed, name: name === '' ? null : name }] : []
}

export interface OriginalTexts {
  text: string
  /** Sanitised. */
  html: string | null
}

/** Null where the mail could not be read. */
export async function textsOf(db: Db, { sourceId, isOut }: Original): Promise<OriginalTexts | null> {
  if (sourceId === null) return null
  const texts = await findMessageTexts(db, sourceId)
  // Of our own mail whose HTML took too long to be read there is no text, though it has one.
  const isUnread = texts !== null && isOut && texts.text === '' && texts.html === null
  return isUnread && (await hasHtml(db, sourceId)) ? null : texts
}

/** Behind the header of a mail to a thousand people, and before its attachments. */
const HEAD_BYTES_MAX = 256 * 1024

async function hasHtml(db: Db, sourceId: string): Promise<boolean> {
  const source = await findSourceContent(db, sourceId, HEAD_BYTES_MAX)
  if (!source) throw notFound('message')
  return /^content-type: text\/html/im.test(source.content.toString('latin1'))
}

/** One after the other: together they are as large as a message may be. A mail that could not be read goes as a file. */
export async function filesOf(db: Db, { sourceId }: Original, texts: OriginalTexts | null): Promise<Attachment[]> {
  if (sourceId === null) return []
  if (texts === null) return [await sourceAsFile(db, sourceId)]
  const rows = await listAttachmentSizes(db, sourceId)
  if (rows.reduce((sum, { size }) => sum + size, 0) > ATTACHMENT_BYTES_MAX) throw attachmentsTooLarge()
  const files: Attachment[] = []
  for (const { id } of rows) {
    const file = await findAttachment(db, id)
    if (!file) continue
    const { filename, content_type: contentType, content_id: contentId, is_inline: inline, content } = file
    files.push({ filename, contentType, contentId: contentId && safeContentId(contentId), inline, content })
  }
  return files
}

/** One that we would not take from a caller is not written either; the file then is one like any other. */
const safeContentId = (contentId: string): string | null => (/^[!-;=?-~]{1,255}$/.test(contentId) ? contentId : null)

async function sourceAsFile(db: Db, sourceId: string): Promise<Attachment> {
  const source = await findSourceContent(db, sourceId, ATTACHMENT_BYTES_MAX + 1)
  if (!source) throw notFound('message')
  const { content } = source
  if (content.length > ATTACHMENT_BYTES_MAX) throw attachmentsTooLarge()
  return { filename: 'original.eml', contentType: 'message/rfc822', contentId: null, inline: false, content }
}
