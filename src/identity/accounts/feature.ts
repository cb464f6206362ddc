// Accounts: who owns everything else.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { accountRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: accountRoutes(world) })
