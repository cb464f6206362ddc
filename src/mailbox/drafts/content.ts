// What a draft holds, checked as far as it can be before it is sent: a draft may be half written, one that is scheduled may
// not.
import type { Attachment } from '../../mail/mime/attachment.ts'
import { parseAddress } from '../../mail/address/address.ts'
import type { Db, Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { refuse } from '../../platform/refusal.ts'
import { runAtOnce } from '../../platform/slices.ts'
import { decodeAttachments } from '../../sending/messages/attachments.ts'
import { RECIPIENTS_MAX, SUBJECT_BYTES_MAX, TEXT_BYTES_MAX } from '../../sending/messages/limits.ts'
import type { DraftBody } from './contract.ts'
import type { DraftContent } from './queries.ts'

export interface CheckedBody {
  body: DraftBody
  attachments: Attachment[]
  sendAt: Date | null
}

export function checkBody(body: DraftBody, now: Date): CheckedBody {
  if (Buffer.byteLength(body.subject ?? '') > SUBJECT_BYTES_MAX) {
    throw refuse('invalid_message', `subject is longer than ${SUBJECT_BYTES_MAX} bytes.`)
  }
  if (Buffer.byteLength(body.text ?? '') + Buffer.byteLength(body.html ?? '') > TEXT_BYTES_MAX) {
    throw refuse('invalid_message', 'text and html are longer than 10 MiB together.')
  }
  const sendAt = body.send_at ? futureTime(body.send_at, now) : null
  if (sendAt) checkRecipients({ ...body, isReply: Boolean(body.reply_to_id) })
  return { body, attachments: runAtOnce(decodeAttachments(body.attachments ?? [])), sendAt }
}

export function futureTime(text: string, now: Date): Date {
  const time = new Date(text)
  if (time <= now) throw refuse('invalid_request', 'send_at is not in the future.')
  if (time.getTime() - now.getTime() > SCHEDULE_MS_MAX)
    throw refuse('invalid_request', 'send_at is more than a year away.')
  return time
}

const SCHEDULE_MS_MAX = 366 * 86_400_000

/** Nobody may be there to mend it when it is due. */
export function checkRecipients({
  to,
  cc,
  bcc,
  isReply,
}: Pick<DraftBody, 'to' | 'cc' | 'bcc'> & { isReply: boolean }): void {
  const all = [...(to ?? []), ...(cc ?? []), ...(bcc ?? [])]
  // Without any, a reply goes to who wrote the original.
  if (all.length === 0 && !isReply) throw refuse('invalid_message', 'A draft without a recipient cannot be scheduled.')
  if (all.length > RECIPIENTS_MAX)
    throw refuse('too_many_recipients', `There are more than ${RECIPIENTS_MAX} recipients.`)
  const wrong = all.find(address => !parseAddress(address))
  if (wrong !== undefined) throw refuse('invalid_message', `${JSON.stringify(wrong.slice(0, 100))} is not an address.`)
}

/** A message of the same inbox that a reader would find. */
export async function contentOf(tx: Tx, inboxId: string, { body, sendAt }: CheckedBody): Promise<DraftContent> {
  const original = body.reply_to_id ? await findOriginal(tx, inboxId, body.reply_to_id) : null
  if (body.reply_to_id && !original) throw refuse('invalid_request', 'reply_to_id is not a message of this inbox.')
  return {
    thread_id: original?.thread_id ?? null,
    reply_to_id: body.reply_to_id ?? null,
    forwarded_id: null,
    to_list: body.to ?? [],
    cc_list: body.cc ?? [],
    bcc_list: body.bcc ?? [],
    subject: body.subject ?? null,
    text: body.text ?? null,
    html: body.html ?? null,
    scheduled_at: sendAt,
  }
}

const findOriginal = (db: Db, inboxId: string, id: string): Promise<{ thread_id: string } | null> =>
  db.maybe<{ thread_id: string }>(sql`
    select m.thread_id from inbox_messages m join folders f on f.id = m.folder_id and f.discarded_at is null
    where m.id = ${id} and m.inbox_id = ${inboxId}`)
