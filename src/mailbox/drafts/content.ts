// What a draft holds, checked as far as it can be before it is sent: a draft may be half written, one that is scheduled may
// not.
import type { Attachment } from '../../mail/mime/attachment.ts'
import { parseAddress } from '../../mail/address/address.ts'
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { runAtOnce } from '../../platform/slices.ts'
import { decodeAttachments } from '../../sending/messages/attachments.ts'
import { RECIPIENTS_MAX } from '../../sending/messages/limits.ts'
import { checkContent } from '../../sending/messages/check-texts.ts'
import { tenantDisabled } from '../../sending/messages/decide.ts'
import { recipientRefusal } from '../compose/policy-reasons.ts'
import type { Policy } from '../inboxes/policy.ts'
import type { DraftBody } from './contract.ts'
import { findOriginal, type DraftContent } from './queries.ts'

type Recipients = Pick<DraftContent, 'to_list' | 'cc_list' | 'bcc_list'>

export interface CheckedBody {
  body: DraftBody
  attachments: Attachment[]
  sendAt: Date | null
}

export function checkBody(body: DraftBody, now: Date): CheckedBody {
  checkContent(body)
  if (body.reply_to_id && body.forwarded_id) {
    throw refuse('invalid_request', 'A draft has either reply_to_id or forwarded_id.')
  }
  const sendAt = body.send_at ? futureTime(body.send_at, now) : null
  if (sendAt) checkRecipients(body, { isReply: Boolean(body.reply_to_id) })
  return { body, attachments: runAtOnce(decodeAttachments(body.attachments ?? [])), sendAt }
}

export function futureTime(text: string, now: Date): Date {
  const time = new Date(text)
  if (time <= now) throw refuse('invalid_request', 'send_at is not in the future.')
  // In UTC it may be a year later than it reads, and a year of five digits could not be sent back.
  if (time.getUTCFullYear() > 9_999) throw refuse('invalid_request', 'send_at is beyond the year 9999.')
  return time
}

/** Scheduling is sending: one that cannot send now is told so now. */
export async function requireActiveTenant({ db }: World, reach: Reach, tenantId: string): Promise<void> {
  const { status } = await requireTenantInReach(db, { ...reach, inboxId: null }, tenantId)
  if (status === 'disabled') throw tenantDisabled()
}

/** Nobody may be there to mend it when it is due. */
export function checkRecipients(body: Pick<DraftBody, 'to' | 'cc' | 'bcc'>, { isReply }: { isReply: boolean }): void {
  const all = [...(body.to ?? []), ...(body.cc ?? []), ...(body.bcc ?? [])]
  // Without any, a reply goes to who wrote the original.
  if (all.length === 0 && !isReply) throw refuse('invalid_message', 'A draft without a recipient cannot be scheduled.')
  if (all.length > RECIPIENTS_MAX)
    throw refuse('too_many_recipients', `There are more than ${RECIPIENTS_MAX} recipients.`)
  const wrong = all.find(address => !parseAddress(address))
  if (wrong !== undefined) throw refuse('invalid_message', `${JSON.stringify(wrong.slice(0, 100))} is not an address.`)
}

/** What could not leave is refused while somebody is there to hear it. The policy is asked again when it is sent. */
export function checkAllowed(policy: Policy, { to_list, cc_list, bcc_list }: Recipients): void {
  const recipients = [...to_list, ...cc_list, ...bcc_list].flatMap(text => parseAddress(text) ?? [])
  const refusal = recipientRefusal(policy, recipients)
  if (refusal) throw refusal
}

/** `forwardedId`: of the message that the draft has forwarded so far. */
export async function contentOf(
  tx: Tx,
  { inboxId, forwardedId }: { inboxId: string; forwardedId: string | null },
  { body, sendAt }: CheckedBody,
): Promise<DraftContent> {
  const threadId = await threadOf(tx, { inboxId, field: 'reply_to_id', id: body.reply_to_id ?? null })
  await threadOf(tx, { inboxId, field: 'forwarded_id', id: body.forwarded_id ?? null })
  return {
    thread_id: threadId,
    reply_to_id: body.reply_to_id ?? null,
    // What becomes a reply forwards nothing any more.
    forwarded_id: body.forwarded_id === undefined && !body.reply_to_id ? forwardedId : (body.forwarded_id ?? null),
    to_list: body.to ?? [],
    cc_list: body.cc ?? [],
    bcc_list: body.bcc ?? [],
    subject: body.subject ?? null,
    text: body.text ?? null,
    html: body.html ?? null,
    scheduled_at: sendAt,
  }
}

/** A message of the same inbox that a reader would find. */
async function threadOf(tx: Tx, { inboxId, field, id }: { inboxId: string; field: string; id: string | null }) {
  if (id === null) return null
  const original = await findOriginal(tx, inboxId, id)
  if (!original) throw refuse('invalid_request', `${field} is not a message of this inbox.`)
  return original.thread_id
}
