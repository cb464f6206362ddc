// How much waits to be delivered.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { queueRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: queueRoutes(world) })
