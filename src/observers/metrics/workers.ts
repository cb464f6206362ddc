// The roll-up follows the journal; old roll-ups leave once an hour.
import { avoidCompiling } from '../../platform/db/planner.ts'
import type { Periodic, Tail } from '../../platform/work/worker.ts'
import { forgetOldMetrics } from './retention.ts'
import { countEvents } from './roll-up-queries.ts'

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
