// API keys: who may call, and what for.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { apiKeyRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: apiKeyRoutes(world) })
