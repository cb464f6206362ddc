// Rejecting a mail that waits: by a person, or by time. It stays in its thread and never leaves.
import { system, type Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { Named } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import type { Reason } from '../compose/policy-reasons.ts'
import { updateStatuses } from '../messages/insert.ts'
import { auditIn, lockInboxes, lockUnlessBusy, ownerOf } from '../inboxes/lock.ts'
import { alreadyDecided, refusalOfDecided } from './companion.ts'
import type { Approval } from './contract.ts'
import { presentApproval } from './present.ts'
import { listExpiredAnywhere, requireApproval, updateRejected, type Pending, type Requester } from './queries.ts'

export function reject(world: World, by: Actor, { reach, id }: Named): Promise<Approval> {
  return world.db.transact(by, async tx => {
    const { inbox_id, account_id, tenant_id, ...deciding } = await requireApproval(tx, reach, id)
    const refusal = refusalOfDecided(deciding, tx.now)
    if (refusal) throw refusal
    const whom = { type: by.type, id: by.id, name: by.name }
    await lockInboxes(tx, [inbox_id])
    const rejected = await rejectLocked(tx, [{ id, inbox_id, account_id, tenant_id }], { by: whom, reason: null })
    const approval = await requireApproval(tx, reach, id)
    if (rejected === 0) throw alreadyDecided(approval.status)
    return presentApproval(approval)
  })
}

/** Their inboxes are locked. Answers how many were pending until now. */
async function rejectLocked(
  tx: Tx,
  pending: readonly Pending[],
  { by, reason }: { by: Requester; reason: Reason | null },
): Promise<number> {
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
    const one = pending.find(each => each.id === id)!
    const inbox = { ...one, id: one.inbox_id }
    const data = { approval_id: id, message_id: inbox_message_id, reason: reason?.kind ?? null }
    tx.record({ type: 'approval.rejected', ...ownerOf(inbox), data })
    auditIn(tx, inbox, {
      action: 'approval.reject',
      target: { type: 'approval', id },
      before: { status: 'pending' },
      after: { status: 'rejected', reason: reason?.kind ?? null },
    })
  }
  return rejected.length
}

const EXPIRED_AT_ONCE = 100
const EXPIRED: Reason = { kind: 'expired', detail: 'Nobody decided within seven days.' }

/** All that are due, but for those of inboxes that another transaction has locked: they are left to the next round. */
export async function expireApprovals(world: World, signal?: AbortSignal): Promise<void> {
  const busy = new Set<string>()
  while (!signal?.aborted) {
    const now = world.clock.now()
    const due = await listExpiredAnywhere(world.db, { now, exceptInboxes: [...busy], limit: EXPIRED_AT_ONCE })
    if (due.length === 0) return
    for (const pending of Map.groupBy(due, ({ account_id }) => account_id).values()) {
      for (const inboxId of await expireOf(world, pending)) busy.add(inboxId)
    }
  }
}

/** Of one account, so that no other one's inboxes stay locked meanwhile. Answers the inboxes that are locked elsewhere. */
const expireOf = (world: World, pending: readonly Pending[]): Promise<ReadonlySet<string>> =>
  world.db.transact(system('approvals'), async tx => {
    const busy = await lockUnlessBusy(tx, new Set(pending.map(({ inbox_id }) => inbox_id)))
    const free = pending.filter(({ inbox_id }) => !busy.has(inbox_id))
    if (free.length > 0)
      await rejectLocked(tx, free, { by: { type: 'system', id: null, name: 'expiry' }, reason: EXPIRED })
    return busy
  })
