// Threads of inboxes.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { threadRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: threadRoutes(world) })
