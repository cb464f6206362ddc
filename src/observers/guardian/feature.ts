// The guardian: rules that watch over senders, and pause or slow them.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { evaluate } from './evaluate.ts'
import { HourCache } from './hour-cache.ts'
import { guardianRoutes } from './routes.ts'

export function feature(world: World): Feature {
  const cache = new HourCache()
  return {
    routes: guardianRoutes(world),
    workers: [{ kind: 'periodic', name: 'guardian', seconds: 10, run: () => evaluate(world, cache) }],
  }
}
