// Counts of what happened, by time and scope.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { metricWorkers } from './workers.ts'
import { metricRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: metricRoutes(world), workers: metricWorkers })
