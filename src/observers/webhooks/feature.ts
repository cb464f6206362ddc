// Webhooks: events pushed to customers' endpoints.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { webhookWorkers } from './workers.ts'
import { pushWorker } from './push-worker.ts'
import { webhookRoutes } from './routes.ts'

export function feature(world: World): Feature {
  const pushes = pushWorker(world, world.http)
  return { ...pushes.feature, routes: webhookRoutes(world), workers: webhookWorkers(pushes) }
}
