// Domains that tenants send from: their keys, and the records that prove them.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { domainLoops } from './loops.ts'
import { domainRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({
  routes: domainRoutes(world),
  loops: domainLoops,
})
