// The guardian: rules that watch over senders, and pause or slow them.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { guardianLoops } from './loops.ts'
import { guardianRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: guardianRoutes(world), loops: guardianLoops() })
