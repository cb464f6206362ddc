// Pauses of any scope, and their end.
import type { World } from '../../platform/world.ts'
import { suspensionRoutes } from './routes.ts'

export const feature = (world: World) => ({ routes: suspensionRoutes(world) })
