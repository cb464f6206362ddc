// Leases that lapsed give their mail back. What three workers died of is set aside, and a person is told.
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { raise } from '../../platform/journal/anomaly.ts'
import type { World } from '../../platform/world.ts'
import { reclaimLapsed, type Lapsed } from '../queue/leases.ts'
import { requeue } from '../holds/requeue.ts'
import { deleteOldHolders } from './holder-queries.ts'
import { LEASE_MS, type Holder } from './holder.ts'
import { aboutOf } from '../queue/keys.ts'
import { updateSetAside } from '../queue/set-aside.ts'

/** Three workers that died of the same mail did not die by chance. */
const CRASHES_MAX = 3
const RECLAIM_MAX = 1_000
/** Processes that ended are kept for people who wonder what happened. */
const HOLDER_KEPT_MS = 7 * 86_400_000

const by = system('delivery-lapsed-leases')

/** At once all that one process may have leased: what a dead one had is due again within the promised time. */
export async function reclaim(world: World, holder: Holder): Promise<void> {
  for (let rounds = 0; rounds < ROUNDS_MAX && (await reclaimBatch(world, holder)) === RECLAIM_MAX; rounds++);
}

const ROUNDS_MAX = 10

async function reclaimBatch(world: World, holder: Holder): Promise<number> {
  const lapsed = await world.db.transact(by, async tx => {
    const rows = await reclaimLapsed(tx, {
      crashesMax: CRASHES_MAX,
      goneBefore: new Date(tx.now.getTime() - LEASE_MS),
      mayJudge: await holder.mayJudge(tx),
      limit: RECLAIM_MAX,
    })
    const { held = [], queued = [] } = Object.groupBy(rows, row => row.status)
    await setAside(tx, held)
    await requeue(tx, queued)
    return rows
  })
  if (lapsed.length > 0) world.wakeups.hint('deliveries')
  for (const { message_id, n, status } of lapsed) {
    if (status === 'held') world.log.error({ message_id, n }, 'a delivery was set aside: three workers died of it')
  }
  return lapsed.length
}

async function setAside(tx: Tx, rows: readonly Lapsed[]): Promise<void> {
  if (rows.length === 0) return
  const named = rows.map(row => ({ ...row, set_aside_id: newId(tx.now) }))
  await updateSetAside(tx, named)
  for (const row of named) {
    const { recipient, crashes, set_aside_id } = row
    tx.record({ type: 'held', ...aboutOf(row), data: { reason: 'set_aside', crashes, set_aside_id } })
    raise(tx, {
      kind: 'message_set_aside',
      severity: 'critical',
      title: `A delivery to ${recipient} was set aside: ${crashes} workers died attempting it.`,
      ...aboutOf(row),
      facts: { crashes, set_aside_id },
    })
  }
}

export async function forgetHolders(world: World): Promise<void> {
  await world.db.transact(by, tx =>
    deleteOldHolders(tx, { before: new Date(tx.now.getTime() - HOLDER_KEPT_MS), limit: RECLAIM_MAX }),
  )
}
