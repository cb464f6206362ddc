// Delivery: the courier, and the connections over which it hands mail to receivers.
import { SigningKeys } from '../../identity/domains/signing-keys.ts'
import { DRAIN_MS_MAX, type Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { Transport } from '../../smtp/client/transport.ts'
import { RelayMail } from '../relay/relay-mail.ts'
import type { Relays } from '../relay/relays.ts'
import { Courier } from './courier.ts'
import type { LocalInboxes } from './local.ts'
import type { KeptSources } from './sources.ts'
import { stsStore } from '../sts/store.ts'
import { deliveryWorkers } from './workers.ts'

export function feature(
  world: World,
  { inboxes, relays, keptSources: kept }: { inboxes: LocalInboxes; relays: Relays; keptSources: KeptSources },
): Feature {
  const transport = openTransport(world)
  const relay = new RelayMail(relays, transport, world.clock)
  const courier = new Courier(world, { transport, inboxes, relay, keys: new SigningKeys(world), kept })
  return {
    workers: deliveryWorkers(courier),
    close: async () => {
      await courier.drain(DRAIN_MS_MAX)
      await transport.close()
    },
  }
}

function openTransport(world: World): Transport {
  const { config, clock, dns, metrics } = world
  const transport = new Transport({
    helloName: config.MX_HOST,
    routes: config.SMTP_ROUTES,
    dns,
    allowPrivate: config.DELIVERY_ALLOW_CIDRS,
    clock,
    stsStore: stsStore(world),
  })
  metrics.gauge('sluice_smtp_connections', 'Connections to receivers', ['host'], gauge => {
    gauge.reset()
    for (const [host, count] of transport.connectionsByHost()) gauge.set({ host }, count)
  })
  return transport
}
