// Streams of inboxes, over server-sent events and WebSocket.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { streamWorkers } from './workers.ts'
import { OpenStreams } from './open-streams.ts'
import { streamRoutes } from './routes.ts'

export function feature(world: World): Feature {
  const streams = new OpenStreams(world)
  return { routes: streamRoutes(world, streams), workers: streamWorkers, close: () => streams.close() }
}
