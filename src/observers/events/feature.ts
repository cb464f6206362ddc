// The journal, for customers to read.
import type { World } from '../../platform/world.ts'
import { eventRoutes } from './routes.ts'

export const feature = (world: World) => ({ routes: eventRoutes(world) })
