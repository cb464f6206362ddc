// Pausing and resuming what an account, a tenant, a domain, a key or a sender sends.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import type { Movers } from './resume.ts'
import { suspensionRoutes } from './routes.ts'

export const feature = (world: World, { movers }: { movers: Movers }): Feature => ({
  routes: suspensionRoutes(world, movers),
})
