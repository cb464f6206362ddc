// Tenants: the customers of an account.
import type { World } from '../../platform/world.ts'
import { tenantRoutes } from './routes.ts'

export const feature = (world: World) => ({ routes: tenantRoutes(world) })
