// Asking for an approval: the mail is in its thread and waits; what exactly would leave is fixed here.
import type { Tx } from '../../platform/db/database.ts'
import type { Filed } from '../compose/keeper.ts'
import { contentHash, envelopeOf } from '../compose/mail.ts'
import { auditIn, ownerOf } from '../inboxes/lock.ts'
import { insertApprovals } from './queries.ts'

/** Nobody remembers after a week what was asked. */
const PENDING_MS = 7 * 86_400_000

/** In the transaction that files the mails. */
export async function requestApprovals(tx: Tx, held: readonly Filed[]): Promise<void> {
  await insertApprovals(
    tx,
    held.map(({ companion, inbox, approvalId, reasons }) => {
      const { submission, id } = companion.mail
      const envelope = envelopeOf(submission)
      return {
        id: approvalId!,
        account_id: inbox.account_id,
        tenant_id: inbox.tenant_id,
        inbox_id: inbox.id,
        inbox_message_id: id,
        reasons,
        requested_by: companion.requestedBy,
        requested_key_id: companion.requestedBy.id,
        envelope,
        content_hash: contentHash(envelope, submission.source).toString('hex'),
        expires_at: new Date(tx.now.getTime() + PENDING_MS),
      }
    }),
  )
  for (const { companion, inbox, approvalId, reasons } of held) {
    const kinds = reasons.map(({ kind, detail }) => ({ kind, detail }))
    tx.record({
      type: 'approval.required',
      ...ownerOf(inbox),
      data: { approval_id: approvalId, message_id: companion.mail.id, reasons: kinds },
    })
    auditIn(tx, inbox, {
      action: 'approval.request',
      by: companion.by,
      target: { type: 'approval', id: approvalId! },
      after: { inbox_message_id: companion.mail.id, reasons: kinds },
    })
  }
}
