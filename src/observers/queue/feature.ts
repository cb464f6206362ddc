// How much waits to be delivered.
import type { World } from '../../platform/world.ts'
import { queueRoutes } from './routes.ts'

export const feature = (world: World) => ({ routes: queueRoutes(world) })
