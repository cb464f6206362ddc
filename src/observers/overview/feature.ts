// An account at a glance.
import type { World } from '../../platform/world.ts'
import { overviewRoutes } from './routes.ts'

export const feature = (world: World) => ({ routes: overviewRoutes(world) })
