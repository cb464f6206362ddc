// What a tenant has sent, day by day.
import type { World } from '../../platform/world.ts'
import { usageRoutes } from './routes.ts'

export const feature = (world: World) => ({ routes: usageRoutes(world) })
