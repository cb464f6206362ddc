// Drafts, and those that are sent at a time to come.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import type { Composing } from '../compose/composing.ts'
import { draftRoutes } from './routes.ts'
import { scheduledDrafts } from './worker.ts'

export const feature = (world: World, { composing }: { composing: Composing }): Feature => ({
  ...scheduledDrafts(world, composing).feature,
  routes: draftRoutes(world, composing),
})
