// Domains that tenants send from: their keys, and the records that prove them.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import type { AttachInboxes } from './inbound.ts'
import { recheckDomains } from './recheck.ts'
import { domainRoutes } from './routes.ts'

export const feature = (world: World, { attachInboxes }: { attachInboxes: AttachInboxes }): Feature => ({
  routes: domainRoutes(world, attachInboxes),
  // Hourly: a domain is due a day after its last check, whatever the hour.
  workers: [{ kind: 'periodic', name: 'domain-recheck', seconds: 3600, run: recheckDomains }],
})
