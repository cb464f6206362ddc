// How healthy the mail of an account and its tenants is.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { reputationRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: reputationRoutes(world) })
