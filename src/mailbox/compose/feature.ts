// Sending from mailboxes, and following what becomes of it.
import { system } from '../../platform/db/actor.ts'
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { inBatches } from '../../platform/work/in-batches.ts'
import type { Composing } from './composing.ts'
import { deleteOldSendCounts } from './count-queries.ts'
import { composeRoutes } from './routes.ts'
import { statusBacklog } from './statuses/backlog.ts'
import { followDeliveries } from './statuses/follow-deliveries.ts'

/** A cap looks at the current hour alone. */
const COUNTS_KEPT_MS = 2 * 3_600_000
const COUNTS_AT_ONCE = 1_000

export const feature = (world: World, { composing }: { composing: Composing }): Feature => ({
  routes: composeRoutes(world, composing),
  workers: [
    followDeliveries(),
    statusBacklog(),
    {
      kind: 'periodic',
      name: 'send-counts',
      seconds: 3600,
      run: async (_world, signal) => {
        const before = new Date(world.clock.now().getTime() - COUNTS_KEPT_MS)
        await inBatches(signal, COUNTS_AT_ONCE, () =>
          world.db.transact(system('send-counts'), tx => deleteOldSendCounts(tx, before, COUNTS_AT_ONCE)),
        )
      },
    },
  ],
})
