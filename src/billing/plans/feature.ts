// Plans: the price list of the installation.
import type { World } from '../../platform/world.ts'
import { planRoutes } from './routes.ts'

export const feature = (world: World) => ({ routes: planRoutes(world) })
