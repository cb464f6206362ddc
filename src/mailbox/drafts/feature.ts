// Drafts, and those that are sent at a time to come.
import { DRAIN_MS_MAX, RECORD_MS_MAX, type Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import type { Composing } from '../compose/composing.ts'
import { draftRoutes } from './routes.ts'
import { scheduledDrafts } from './worker.ts'

export function feature(world: World, { composing }: { composing: Composing }): Feature {
  const scheduled = scheduledDrafts(world, composing)
  return {
    routes: draftRoutes(world, composing),
    loops: scheduled.workers,
    close: async () => {
      await scheduled.drain(DRAIN_MS_MAX - RECORD_MS_MAX)
      await scheduled.close(RECORD_MS_MAX)
    },
  }
}
