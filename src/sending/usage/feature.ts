// What a tenant has sent, day by day.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { usageRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: usageRoutes(world) })
