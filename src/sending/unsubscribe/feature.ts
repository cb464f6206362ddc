// The page behind the unsubscribe link of a message.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { unsubscribeRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: unsubscribeRoutes(world) })
