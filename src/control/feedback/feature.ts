// Suppressions and complaints.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { feedbackRoutes, type Complain } from './routes.ts'

export const feature = (world: World, { complain }: { complain: Complain }): Feature => ({
  routes: feedbackRoutes(world, complain),
})
