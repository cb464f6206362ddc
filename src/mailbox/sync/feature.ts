// Inboxes that mirror a mailbox at Google or Microsoft: the sessions that keep both sides the same.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { Mirrors, type MirrorOptions } from './worker.ts'

/** Where no provider is configured nothing is connected. */
export function feature(world: World, options: MirrorOptions): Feature {
  if (!options.servers.google && !options.servers.microsoft) return {}
  const { worker, changes } = new Mirrors(world, options)
  return { ...worker.feature, workers: [...worker.workers, changes.worker] }
}
