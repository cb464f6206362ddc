// Webhooks: events pushed to customers' endpoints.
import { RECORD_MS_MAX, REQUEST_MS_MAX, type Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { webhookLoops } from './loops.ts'
import { pushWorker } from './push-worker.ts'
import { webhookRoutes } from './routes.ts'

export function feature(world: World): Feature {
  const pushes = pushWorker(world, world.http)
  return {
    routes: webhookRoutes(world),
    loops: webhookLoops(pushes),
    drain: () => pushes.drain(REQUEST_MS_MAX),
    close: async requestsEnd => {
      await requestsEnd
      await pushes.close(RECORD_MS_MAX)
    },
  }
}
