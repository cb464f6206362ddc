// Streams of inboxes, over server-sent events and WebSocket.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { system } from '../../platform/db/actor.ts'
import { deleteFloors } from '../../platform/journal/forget.ts'
import type { Worker } from '../../platform/work/worker.ts'
import { streamRoute } from '../../platform/http/contract.ts'
import { OpenStreams } from './open-streams.ts'
import { deleteLapsedSlots, listInboxesGone } from './queries.ts'
import { inboxEventsEndpoint, inboxSocketEndpoint } from './contract.ts'
import { openStream } from './open.ts'

export function feature(world: World): Feature {
  const streams = new OpenStreams(world)
  return {
    routes: [
      // A browser that reconnects asks for the same URL again and adds the header, which is therefore the newer.
      streamRoute(inboxEventsEndpoint, ({ caller, params, query, headers }) =>
        openStream(world, streams, {
          caller,
          inboxId: params.id,
          afterId: headers['last-event-id'] ?? query.after_id ?? null,
        }),
      ),
      streamRoute(inboxSocketEndpoint, ({ caller, params, query }) =>
        openStream(world, streams, { caller, inboxId: params.id, afterId: query.after_id ?? null }),
      ),
    ],
    workers: streamWorkers,
    close: () => streams.close(),
  }
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
