// Handlers of /v1/domains.
import { done, reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage } from '../../platform/http/paging.ts'
import type { World } from '../../platform/world.ts'
import { requireTenantInReach } from '../tenants/find.ts'
import * as contract from './contract.ts'
import { createDomain } from './create.ts'
import { deleteDomain } from './delete.ts'
import { setInbound, type AttachInboxes } from './inbound.ts'
import { presentDomain } from './present.ts'
import { listDomains } from './queries.ts'
import { verifyDomain } from './verify.ts'

export const domainRoutes = (world: World, attachInboxes: AttachInboxes): Route[] => [
  route(contract.createDomainEndpoint, async ({ by, caller, params, body }) =>
    reply(201, await createDomain(world, by, { reach: caller.reach, tenantId: params.id, name: body.name })),
  ),
  route(contract.listDomainsEndpoint, async ({ caller, query }) => {
    const { rows, next_cursor } = await readPage(world.secrets, 'domains', query, async keyset => {
      if (query.tenant_id) await requireTenantInReach(world.db, caller.reach, query.tenant_id)
      return listDomains(world.db.lists, caller.reach, { tenantId: query.tenant_id ?? null, ...keyset })
    })
    return reply(200, { domains: rows.map(domain => presentDomain(world.config, domain)), next_cursor })
  }),
  route(contract.verifyDomainEndpoint, async ({ by, caller, params }) =>
    reply(200, await verifyDomain(world, world.dns, by, { reach: caller.reach, id: params.id, attachInboxes })),
  ),
  route(contract.setInboundEndpoint, async ({ by, caller, params, body }) =>
    reply(
      200,
      await setInbound(world, by, { reach: caller.reach, id: params.id, isEnabled: body.enabled, attachInboxes }),
    ),
  ),
  route(contract.deleteDomainEndpoint, ({ by, caller, params }) =>
    done(deleteDomain(world, by, { reach: caller.reach, id: params.id })),
  ),
]
