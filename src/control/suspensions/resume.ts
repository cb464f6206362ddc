// Ending a pause. What it holds is released or cancelled behind the answer; how many that are is certain at once, for
// nobody can add to a pause while the account's lock is held, nor after.
import type { Tx } from '../../platform/db/database.ts'
import { refuse } from '../../platform/refusal.ts'
import { lockAccountExclusively, lockPauseExclusively, lockResumes } from './locks.ts'
import type { ResumeOrder, Suspension } from './contract.ts'
import { nameOf } from './pause.ts'
import { covers, mayOverlap } from './overlap.ts'
import { updateHeldSince } from './progress-queries.ts'
import {
  listActiveOfAccounts,
  listMovingTo,
  lockSuspension,
  updateMovedTo,
  updateOwnEnd,
  updateResumed,
  type ActiveSuspension,
} from './queries.ts'

/** Moves held mail between pauses. The queue belongs to a floor above; the composition root hands this in. */
export interface Movers {
  /** What a pause holds and another one matches as well, to that other one. */
  some(tx: Tx, from: ActiveSuspension, others: readonly ActiveSuspension[], heldSince: Date | null): Promise<void>
  /** All that a pause holds. */
  all(tx: Tx, fromId: string, toId: string): Promise<void>
  /** To a pause what it matched while it was being sent, and what waits again by now. */
  late(tx: Tx, to: ActiveSuspension): Promise<void>
}

/** Clocks of processes differ, and a transaction is older than its commit. */
const MARGIN_MS = 60_000
/** A pause made during a walk has a walk of its own before the account is locked; one made after so many, with the lock. */
const WALKS_MAX = 3

export interface Resume {
  accountId: string
  id: string
  order: ResumeOrder
  isOperator: boolean
  movers: Movers
}

export type Resumed = Suspension & { affected_deliveries: number }

/** Null when there is no such pause. One that was resumed before is answered as it is, with nothing affected. */
export async function resume(tx: Tx, { accountId, id, order, isOperator, movers }: Resume): Promise<Resumed | null> {
  await lockResumes(tx, accountId)
  await lockPauseExclusively(tx, id)
  const suspension = await lockSuspension(tx, accountId, id)
  if (!suspension) return null
  if (suspension.status === 'resumed') return { ...suspension, affected_deliveries: 0 }
  if (suspension.source === 'operator' && !isOperator) {
    throw refuse('forbidden', 'The operator paused this account; only the operator can resume it.')
  }
  const action = order.action ?? 'release'
  const from = { ...suspension, account_id: accountId }
  const others = async (): Promise<ActiveSuspension[]> => {
    if (action === 'purge') return []
    return (await listActiveOfAccounts(tx, [accountId])).filter(each => each.id !== id && mayOverlap(from, each))
  }
  const keeperOf = (pauses: readonly ActiveSuspension[]): string | null =>
    pauses.find(other => covers(other, from))?.id ?? null
  // The long walks first, while mail goes on; then, with the lock, only what came in between. Where another one keeps it all,
  // none of it is touched before the answer.
  const walked = new Set<string>()
  const unwalked = (pauses: readonly ActiveSuspension[]) => pauses.filter(pause => !walked.has(pause.id))
  for (let round = 1; round <= WALKS_MAX; round++) {
    const before = await others()
    const fresh = unwalked(before)
    if (fresh.length === 0 || keeperOf(before)) break
    await movers.some(tx, from, fresh, null)
    for (const pause of fresh) walked.add(pause.id)
  }
  await lockAccountExclusively(tx, accountId)
  await movers.late(tx, from)
  const now = await others()
  const keeper = keeperOf(now)
  const joined = await settleMoving(tx, { id, keeper, action, isAlone: now.length === 0 }, movers)
  // Here and not with each batch that is handed over: those hold the account's lock shared and must not wait for this row.
  if (keeper) await updateHeldSince(tx, keeper, id)
  if (now.length > 0 && !keeper) {
    await movers.some(tx, from, now, new Date(tx.now.getTime() - MARGIN_MS))
    const fresh = unwalked(now)
    if (fresh.length > 0) await movers.some(tx, from, fresh, null)
  }
  const resumed = await updateResumed(tx, {
    id,
    action,
    note: order.note ?? null,
    resumedBy: nameOf(tx.by),
    movedTo: keeper,
    joined,
  })
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

interface Settling {
  id: string
  keeper: string | null
  action: 'release' | 'purge'
  /** No other pause has a say. */
  isAlone: boolean
}

/**
 * What others were to hand to this pause goes to whom it goes itself, or meets the same end where it is: then it is answered
 * which those are, to be counted with it. Only where other pauses may keep a part is it taken in first.
 */
async function settleMoving(tx: Tx, { id, keeper, action, isAlone }: Settling, movers: Movers): Promise<string[]> {
  const moving = await listMovingTo(tx, id)
  if (moving.length === 0) return []
  if (keeper) await updateMovedTo(tx, moving, keeper)
  else if (isAlone) await updateOwnEnd(tx, moving, action)
  else for (const fromId of moving) await movers.all(tx, fromId, id)
  return isAlone && !keeper ? moving : []
}
