// Mail held for longer than its account allows is given up: expired, with an event for each recipient.
import {
  countHolds,
  findHeldBefore,
  listWithOverdueAnywhere,
  lockWhileActive,
} from '../../control/suspensions/progress.ts'
import { system } from '../../platform/db/actor.ts'
import { inBatches } from '../../platform/work/in-batches.ts'
import { oneByOne } from '../../platform/work/one-by-one.ts'
import type { World } from '../../platform/world.ts'
import { recordEvents } from './events.ts'
import { lockHeldBefore, recordUnsent } from '../queue/held.ts'
import { aboutOf } from '../queue/keys.ts'
import { lockSetAsideOverdue } from '../queue/set-aside.ts'

const BATCH_MAX = 1_000

type Overdue = Awaited<ReturnType<typeof listWithOverdueAnywhere>>[number]

export async function expireHeld(world: World, signal: AbortSignal): Promise<void> {
  await inBatches(signal, BATCH_MAX, () => expireSetAside(world))
  await oneByOne(await listWithOverdueAnywhere(world.db, world.clock.now()), async pause => {
    await inBatches(signal, BATCH_MAX, () => expireBatch(world, pause))
  })
}

const expireSetAside = (world: World): Promise<number> =>
  world.db.transact(system('hold-expiry'), async tx => {
    const rows = await lockSetAsideOverdue(tx, BATCH_MAX)
    if (rows.length > 0) recordUnsent(tx, rows, 'expired')
    for (const row of rows) tx.record({ type: 'expired', ...aboutOf(row), data: { reason: 'set_aside' } })
    return rows.length
  })

const expireBatch = (world: World, pause: Overdue): Promise<number> =>
  world.db.transact(system('hold-expiry'), async tx => {
    // A resume has fixed how many it affects: what it releases is no longer ours to give up.
    if (!(await lockWhileActive(tx, pause))) return 0
    const heldBefore = await findHeldBefore(tx, pause.account_id)
    const rows = await lockHeldBefore(tx, { suspensionId: pause.id, limit: BATCH_MAX }, heldBefore)
    if (rows.length === 0) return 0
    recordUnsent(tx, rows, 'expired')
    countHolds(tx, pause.id, -rows.length)
    recordEvents(tx, 'expired', rows, pause)
    return rows.length
  })
