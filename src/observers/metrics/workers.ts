// The roll-up follows the journal; old roll-ups leave once an hour.
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { avoidCompiling } from '../../platform/db/planner.ts'
import { inBatches } from '../../platform/work/in-batches.ts'
import type { Periodic, Tail } from '../../platform/work/worker.ts'
import type { World } from '../../platform/world.ts'
import { MINUTE_DAYS } from './window.ts'
import { countEvents, deleteOldActivity, deleteOldHours, deleteOldMinutes } from './roll-up-queries.ts'

export const metricsTail: Tail = {
  kind: 'tail',
  name: 'metrics',
  batchMax: 10_000,
  // Events that come within a second are mostly of the same tenants and senders: one row is written instead of many.
  restMs: () => 1_000,
  read: async (_world, tx, range) => {
    avoidCompiling(tx)
    await countEvents(tx, range)
  },
}

const metricsRetention: Periodic = {
  kind: 'periodic',
  name: 'metrics-retention',
  seconds: 3600,
  run: async (world, signal) => {
    const rows = await forgetOldMetrics(world, signal)
    if (rows > 0) world.log.info({ rows }, 'old metrics removed')
  },
}

export const metricWorkers = [metricsTail, metricsRetention]

const HOUR_DAYS = 400
/** The longest window of a rule, and a day. */
const ACTIVITY_DAYS = 8
const BATCH = 5_000
const DAY_MS = 86_400_000

/**
 * Minutes are for zooming in on the last month, hours for the last year and a bit. Bounded batches, each a transaction, so
 * that nothing waits long for it and a kill loses nothing.
 */
export async function forgetOldMetrics(world: World, signal: AbortSignal): Promise<number> {
  const daysAgo = (days: number): Date => new Date(world.clock.now().getTime() - days * DAY_MS)
  const forget = async (remove: typeof deleteOldMinutes, days: number): Promise<number> => {
    const over = { before: daysAgo(days), limit: BATCH }
    return inBatches(signal, BATCH, () => world.db.transact(system('metrics-retention'), (tx: Tx) => remove(tx, over)))
  }
  return (
    (await forget(deleteOldMinutes, MINUTE_DAYS)) +
    (await forget(deleteOldHours, HOUR_DAYS)) +
    (await forget(deleteOldActivity, ACTIVITY_DAYS))
  )
}
