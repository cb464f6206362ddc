// An account at a glance.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { overviewRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: overviewRoutes(world) })
