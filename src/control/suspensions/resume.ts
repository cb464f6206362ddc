// Ending a pause. What it holds is released or cancelled behind the answer; how many that are is certain at once, for
// nobody can add to a pause while the account's lock is held, nor after.
import type { Tx } from '../../platform/db/database.ts'
import { refuse } from '../../platform/refusal.ts'
import { lockAccountExclusively, lockResumes } from './account-lock.ts'
import type { ResumeOrder, Suspension } from './contract.ts'
import { nameOf } from './pause.ts'
import { listActiveOfAccounts, lockSuspension, updateResumed, type ActiveSuspension } from './queries.ts'

/**
 * Moves what a pause holds and another one matches as well to that other one. The queue belongs to a floor above; the
 * composition root hands this in.
 */
export type MoveHeld = (
  tx: Tx,
  from: ActiveSuspension,
  others: readonly ActiveSuspension[],
  heldSince: Date | null,
) => Promise<void>

/** Clocks of processes differ, and a transaction is older than its commit. */
const MARGIN_MS = 60_000

export interface Resume {
  accountId: string
  id: string
  order: ResumeOrder
  isOperator: boolean
  moveHeld: MoveHeld
}

export type Resumed = Suspension & { affected_deliveries: number }

/** Null when there is no such pause. One that was resumed before is answered as it is, with nothing affected. */
export async function resume(tx: Tx, { accountId, id, order, isOperator, moveHeld }: Resume): Promise<Resumed | null> {
  await lockResumes(tx, accountId)
  const suspension = await lockSuspension(tx, accountId, id)
  if (!suspension) return null
  if (suspension.status === 'resumed') return { ...suspension, affected_deliveries: 0 }
  if (suspension.source === 'operator' && !isOperator) {
    throw refuse('forbidden', 'The operator paused this account; only the operator can resume it.')
  }
  const action = order.action ?? 'release'
  const from = { ...suspension, account_id: accountId }
  const others = async (): Promise<ActiveSuspension[]> =>
    action === 'purge' ? [] : (await listActiveOfAccounts(tx, [accountId])).filter(each => each.id !== id)
  // The long walk first, while mail goes on; then, with the lock, only what came in between.
  const before = await others()
  if (before.length > 0) await moveHeld(tx, from, before, null)
  await lockAccountExclusively(tx, accountId)
  const now = await others()
  const isNew = now.some(other => !before.some(({ id: known }) => known === other.id))
  if (now.length > 0) await moveHeld(tx, from, now, isNew ? null : new Date(tx.now.getTime() - MARGIN_MS))
  const resumed = await updateResumed(tx, { id, action, note: order.note ?? null, resumedBy: nameOf(tx.by) })
  const { scope, tenant_id: tenantId, affected_deliveries } = resumed
  tx.record({ type: 'resumed', accountId, tenantId, data: { suspension_id: id, scope, action, affected_deliveries } })
  tx.audit({
    accountId,
    tenantId,
    target: { type: 'suspension', id },
    before: { status: 'active', scope },
    after: { status: 'resumed', scope, action, note: order.note ?? null, affected_deliveries },
  })
  return resumed
}
