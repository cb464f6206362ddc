// Plans: the price list of the installation.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { planRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: planRoutes(world) })
