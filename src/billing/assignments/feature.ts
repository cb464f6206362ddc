// Assignments: which plan prices whom, and from when.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { assignmentRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: assignmentRoutes(world) })
