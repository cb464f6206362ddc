// Tenants: the customers of an account.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { tenantRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: tenantRoutes(world) })
