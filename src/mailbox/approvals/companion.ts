// An approval at the gate: it is decided in the transaction that accepts the mail. The second decision finds it decided,
// and a crash leaves it pending with nothing sent, or approved with the mail accepted.
import type { Tx } from '../../platform/db/database.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import type { SendResponse } from '../../sending/messages/send-schema.ts'
import type { Companion } from '../../sending/messages/submission.ts'
import { recipientRefusal } from '../compose/policy-reasons.ts'
import { statusOf, type Envelope } from '../compose/mail.ts'
import { updateSentMessage } from '../messages/insert.ts'
import { ownerOf, type LockedInbox } from '../inboxes/lock.ts'
import { listApprovalStates, listPendingCounts, updateApproved, updateSent, type Requester } from './queries.ts'

export interface ApprovalCompanion extends Companion {
  kind: 'approval'
  approvalId: string
  envelope: Envelope
  decidedBy: Requester
}

export type PendingApproval = Awaited<ReturnType<typeof listApprovalStates>>[number]

export const loadApprovals = async (tx: Tx, ids: readonly string[]): Promise<ReadonlyMap<string, PendingApproval>> =>
  new Map((ids.length > 0 ? await listApprovalStates(tx, ids) : []).map(row => [row.id, row]))

/** Of an inbox. What waits is kept whole for a week, and no quota counts it. */
export const PENDING_MAX = 1_000

/** Decisions make room for others: what may wait is tried again. */
export class TooManyPending extends Error {
  constructor() {
    super('the inbox has as many mails that wait for an approval as it may have')
    this.name = 'TooManyPending'
  }
}

export const tooManyPending = () =>
  refuse('conflict', `${PENDING_MAX} mails of this inbox wait for an approval already. Decide some of them first.`, {
    cause: new TooManyPending(),
  })

/** By inbox. */
export const countPending = async (tx: Tx, inboxIds: readonly string[]): Promise<Map<string, number>> =>
  new Map((await listPendingCounts(tx, inboxIds)).map(({ inbox_id, count }) => [inbox_id, count]))

export function admitApproval(
  { approvalId, envelope }: ApprovalCompanion,
  approvals: ReadonlyMap<string, PendingApproval>,
  { inbox, now }: { inbox: LockedInbox; now: Date },
): Error | null {
  const approval = approvals.get(approvalId)
  if (!approval) return notFound('approval')
  return refusalOfDecided(approval, now) ?? recipientRefusal(inbox.policy, envelope.recipients)
}

/** What has expired is decided, also before a worker has said so. */
export function refusalOfDecided({ status, expires_at }: Deciding, now: Date): Error | null {
  if (status !== 'pending') return alreadyDecided(status)
  return expires_at <= now ? alreadyDecided('expired') : null
}

type Deciding = Pick<PendingApproval, 'status' | 'expires_at'>

export const alreadyDecided = (status: string) =>
  refuse('already_decided', `This approval is decided already: ${status}.`)

export async function storeApproved(
  tx: Tx,
  { approvalId, decidedBy }: ApprovalCompanion,
  { inbox, response, approval }: { inbox: LockedInbox; response: SendResponse; approval: PendingApproval },
): Promise<void> {
  await updateApproved(tx, approvalId, decidedBy)
  const { id, thread_id, subject, snippet, to_list } = await updateSentMessage(tx, {
    id: approval.inbox_message_id,
    status: statusOf(response),
    submissionId: response.message_id,
  })
  const about = ownerOf(inbox)
  const named = { message_id: id, thread_id, submission_id: response.message_id }
  tx.record({ type: 'approval.approved', ...about, data: { approval_id: approvalId, ...named } })
  tx.record({
    type: 'message.sent',
    ...about,
    data: { ...named, to: to_list, subject, snippet, status: statusOf(response) },
  })
  tx.record({ type: 'thread.updated', ...about, data: { thread_id } })
}

/** An approved mail that reached its first recipient is sent. */
export async function markSent(tx: Tx, approvalIds: readonly string[]): Promise<void> {
  if (approvalIds.length > 0) await updateSent(tx, [...new Set(approvalIds)])
}
