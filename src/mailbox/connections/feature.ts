// Connected mailboxes: the grant of a person at Google or Microsoft.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { connectionRoutes } from './routes.ts'

export const feature = (world: World, { publicUrl }: { publicUrl: () => string }): Feature => ({
  routes: connectionRoutes(world, publicUrl),
})
