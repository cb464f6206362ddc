// What becomes of mail that was set aside: released into the queue with a clean sheet, or cancelled. A person decides.
import { lockAccountsShared } from '../../control/suspensions/locks.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { missing, notFound } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { reserveRanks } from '../messages/ranks.ts'
import { recordUnsent, updateReleased } from '../queue/held.ts'
import { aboutOf } from '../queue/keys.ts'
import { requeue } from '../holds/requeue.ts'
import type { SetAsideDecided } from './contract.ts'
import { findTenantOfSetAside, forgetSetAside, lockSetAside, type SetAsideRow } from '../queue/set-aside.ts'

/** One delivery that was set aside. */
interface SetAsideName {
  accountId: string
  id: string
}

/**
 * Its rank in the queue is reserved before the transaction begins: within it that would take a second connection, and as many
 * releases as an account has connections would all wait for one more.
 */
export async function releaseSetAside(world: World, by: Actor, name: SetAsideName): Promise<SetAsideDecided> {
  const tenantId = await findTenantOfSetAside(world.db, name)
  if (tenantId === null) throw notFound('delivery')
  const rank = (await reserveRanks(world, new Map([[tenantId, 1]]))).get(tenantId) ?? world.clock.now()
  return world.db.transact(by, tx => release(tx, name, rank))
}

/** A pause that matches it holds it from now on: the account's lock keeps that pause from being resumed meanwhile. */
async function release(tx: Tx, name: SetAsideName, rank: Date): Promise<SetAsideDecided> {
  const { accountId } = name
  await lockAccountsShared(tx, [accountId])
  const row = await requireSetAside(tx, name)
  tx.record({ type: 'released', ...aboutOf(row), data: { reason: 'set_aside' } })
  const { row_id } = await forgetSetAside(tx, name)
  updateReleased(tx, [{ row_id, rank }])
  const pause = (await requeue(tx, [row])).get(row)
  return decide(tx, row, name, { status: pause ? 'held' : 'queued', suspension_id: pause?.id ?? null })
}

export async function cancelSetAside(tx: Tx, name: SetAsideName): Promise<SetAsideDecided> {
  const row = await requireSetAside(tx, name)
  recordUnsent(tx, [row], 'cancelled')
  tx.record({ type: 'cancelled', ...aboutOf(row), data: { reason: 'set_aside' } })
  return decide(tx, row, name, { status: 'cancelled', suspension_id: null })
}

const requireSetAside = async (tx: Tx, name: SetAsideName): Promise<SetAsideRow> =>
  (await lockSetAside(tx, name)) ?? missing('delivery')

function decide(
  tx: Tx,
  { message_id, tenant_id, recipient, crashes, held_at }: SetAsideRow,
  { accountId, id }: SetAsideName,
  state: Pick<SetAsideDecided, 'status' | 'suspension_id'>,
): SetAsideDecided {
  const decided = { id, message_id, tenant_id, recipient, ...state }
  tx.audit({
    accountId,
    tenantId: tenant_id,
    target: { type: 'delivery', id },
    before: { status: 'held', crashes, set_aside_at: held_at.toISOString() },
    after: decided,
  })
  return decided
}
