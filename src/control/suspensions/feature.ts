// Pauses of any scope, and their end.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { suspensionRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: suspensionRoutes(world) })
