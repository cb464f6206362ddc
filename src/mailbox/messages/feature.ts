// Messages of inboxes.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { inboxMessageRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: inboxMessageRoutes(world) })
