// Charges: what was used, and what it is going to cost.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { chargeRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: chargeRoutes(world) })
