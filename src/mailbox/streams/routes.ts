// Handlers of the streams of an inbox.
import { streamRoute, type Route } from '../../platform/http/contract.ts'
import type { World } from '../../platform/world.ts'
import { inboxEventsEndpoint, inboxSocketEndpoint } from './contract.ts'
import type { OpenStreams } from './open-streams.ts'
import { openStream } from './open.ts'

export const streamRoutes = (world: World, streams: OpenStreams): Route[] => [
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
]
