// The audit log, its seals and their verification.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { auditLoops } from './loops.ts'
import { auditRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: auditRoutes(world), loops: auditLoops })
