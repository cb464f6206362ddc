// Deliveries that workers died of, for a person to decide about.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { setAsideRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: setAsideRoutes(world) })
