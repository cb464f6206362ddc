// A courier over a transport of the test's own, where no domain is ours and no mailbox is connected.
import type { World } from '../../platform/world.ts'
import { Courier, type Transport } from './courier.ts'
import type { DomainKeys } from './sources.ts'

const NO_KEYS: DomainKeys = { keyOf: async () => null }

export const courierOver = (world: World, transport: Transport, keys = NO_KEYS): Courier =>
  new Courier(world, {
    transport,
    inboxes: { takes: () => false, deliver: async () => [] },
    relay: { deferMs: () => null, send: () => Promise.reject(new Error('no mailbox is connected')) },
    keys,
    kept: { list: async () => [], findPart: async () => null },
  })
