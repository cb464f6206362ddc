// Streams of inboxes, over server-sent events and WebSocket.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { system } from '../../platform/db/actor.ts'
import { deleteFloors } from '../../platform/journal/forget.ts'
import type { Worker } from '../../platform/work/worker.ts'
import { OpenStreams } from './open-streams.ts'
import { streamRoutes } from './routes.ts'
import { deleteLapsedSlots, listInboxesGone } from './queries.ts'

export function feature(world: World): Feature {
  const streams = new OpenStreams(world)
  return { routes: streamRoutes(world, streams), workers: streamWorkers, close: () => streams.close() }
}

const HOUR_MS = 3_600_000
const FLOORS_AT_ONCE = 1_000

/** Removes what streams leave behind: slots of processes that died, and floors of inboxes that are no more. */
const streamWorkers: Worker[] = [
  {
    kind: 'periodic',
    name: 'stream-leftovers',
    seconds: 3_600,
    run: ({ db }) =>
      db.transact(system('stream-leftovers'), async tx => {
        await deleteLapsedSlots(tx, new Date(tx.now.getTime() - HOUR_MS))
        await deleteFloors(tx, await listInboxesGone(tx, FLOORS_AT_ONCE))
      }),
  },
]
