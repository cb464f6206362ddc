// The journal, for customers to read.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { eventRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: eventRoutes(world) })
