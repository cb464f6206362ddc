// Accounts: who owns everything else.
import type { World } from '../../platform/world.ts'
import { accountRoutes } from './routes.ts'

export const feature = (world: World) => ({ routes: accountRoutes(world) })
