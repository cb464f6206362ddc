// Rejecting a mail that waits: by a person, or by time. It stays in its thread and never leaves.
import { system, type Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import type { Reason } from '../compose/policy-reasons.ts'
import { updateStatuses } from '../messages/insert.ts'
import { lockInboxes } from '../inboxes/lock.ts'
import { alreadyDecided } from './companion.ts'
import type { Approval } from './contract.ts'
import { presentApproval } from './present.ts'
import { listExpiredAnywhere, requireApproval, updateRejected, type Requester } from './queries.ts'

export function reject(world: World, by: Actor, { reach, id }: { reach: Reach; id: string }): Promise<Approval> {
  return world.db.transact(by, async tx => {
    const { inbox_id, account_id, tenant_id } = await requireApproval(tx, reach, id)
    const whom = { type: by.type, id: by.id, name: by.name }
    const rejected = await rejectIn(tx, [{ id, inbox_id, account_id, tenant_id }], { by: whom, reason: null })
    const approval = await requireApproval(tx, reach, id)
    if (rejected === 0) throw alreadyDecided(approval.status)
    return presentApproval(approval)
  })
}

interface Pending {
  id: string
  inbox_id: string
  account_id: string
  tenant_id: string
}

/** Answers how many were pending until now. */
async function rejectIn(
  tx: Tx,
  pending: readonly Pending[],
  { by, reason }: { by: Requester; reason: Reason | null },
): Promise<number> {
  await lockInboxes(tx, [...new Set(pending.map(({ inbox_id }) => inbox_id))].toSorted())
  const rejected = await updateRejected(
    tx,
    pending.map(({ id }) => id),
    { by, reason },
  )
  await updateStatuses(
    tx,
    rejected.map(each => ({ id: each.inbox_message_id, status: 'rejected' })),
  )
  for (const { id, inbox_message_id } of rejected) {
    const { inbox_id, account_id, tenant_id } = pending.find(each => each.id === id)!
    const about = { accountId: account_id, tenantId: tenant_id }
    const data = { approval_id: id, message_id: inbox_message_id, reason: reason?.kind ?? null }
    tx.record({ type: 'approval.rejected', ...about, inboxId: inbox_id, data })
    tx.audit({
      action: 'approval.reject',
      ...about,
      target: { type: 'approval', id },
      before: { status: 'pending' },
      after: { status: 'rejected', reason: reason?.kind ?? null },
    })
  }
  return rejected.length
}

const EXPIRED_AT_ONCE = 100

/** Answers how many it looked at. */
export async function expireApprovals(world: World): Promise<number> {
  const actor = system('approvals')
  return world.db.transact(actor, async tx => {
    const due = await listExpiredAnywhere(tx, tx.now, EXPIRED_AT_ONCE)
    if (due.length === 0) return 0
    const reason: Reason = { kind: 'expired', detail: 'Nobody decided within seven days.' }
    await rejectIn(tx, due, { by: { type: 'system', id: null, name: 'expiry' }, reason })
    return due.length
  })
}
