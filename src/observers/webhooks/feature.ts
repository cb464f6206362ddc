// Webhooks: events pushed to customers' endpoints.
import { DRAIN_MS_MAX, type Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { webhookLoops } from './loops.ts'
import { Messenger } from './messenger.ts'
import { webhookRoutes } from './routes.ts'

/** The last part of the drain is for recording the pushes that are cut then. */
const RECORD_MS_MAX = 2_000

interface Shared {
  /** While many messages wait to be accepted, pushes give way. */
  gate: { isCrowded: boolean }
}

export function feature(world: World, { gate }: Shared): Feature {
  const messenger = new Messenger(world, world.http, () => gate.isCrowded)
  return {
    routes: webhookRoutes(world),
    loops: webhookLoops(messenger),
    close: async () => {
      await messenger.drain(DRAIN_MS_MAX - RECORD_MS_MAX)
      await world.http.close()
      await messenger.close(RECORD_MS_MAX)
    },
  }
}
