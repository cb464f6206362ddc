// Mail to postmaster@ and abuse@, for the operator.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { postmasterRoutes } from './routes.ts'
import type { Postmaster } from './take.ts'

export const feature = (world: World, { postmaster }: { postmaster: Postmaster }): Feature => ({
  routes: postmasterRoutes(world, postmaster),
})
