// Handlers of /v1/domains.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { nextIdCursor, pageOf, readIdCursor } from '../../platform/http/paging.ts'
import { LIMIT_DEFAULT } from '../../platform/http/schemas.ts'
import type { World } from '../../platform/world.ts'
import { requireTenantInReach } from '../tenants/find.ts'
import {
  createDomainEndpoint,
  deleteDomainEndpoint,
  listDomainsEndpoint,
  setInboundEndpoint,
  verifyDomainEndpoint,
} from './contract.ts'
import { createDomain } from './create.ts'
import { deleteDomain } from './delete.ts'
import { setInbound } from './inbound.ts'
import { presentDomain } from './present.ts'
import { listDomains } from './queries.ts'
import { verifyDomain } from './verify.ts'

export function domainRoutes(world: World): Route[] {
  const { dns } = world
  return [
    route(createDomainEndpoint, async ({ by, caller, params, body }) =>
      reply(201, await createDomain(world, by, { reach: caller.reach, tenantId: params.id, name: body.name })),
    ),
    route(listDomainsEndpoint, async ({ caller, query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT
      const after = readIdCursor(world.secrets, 'domains', query.cursor)
      if (query.tenant_id) await requireTenantInReach(world.db, caller.reach, query.tenant_id)
      const wanted = { tenantId: query.tenant_id ?? null, after, limit: limit + 1 }
      const page = pageOf(await listDomains(world.db.lists, caller.reach, wanted), limit)
      const domains = page.rows.map(domain => presentDomain(world.config, domain))
      return reply(200, { domains, next_cursor: nextIdCursor(world.secrets, 'domains', page) })
    }),
    route(verifyDomainEndpoint, async ({ by, caller, params }) =>
      reply(200, await verifyDomain(world, dns, by, { reach: caller.reach, id: params.id })),
    ),
    route(setInboundEndpoint, async ({ by, caller, params, body }) =>
      reply(200, await setInbound(world, by, { reach: caller.reach, id: params.id, isEnabled: body.enabled })),
    ),
    route(deleteDomainEndpoint, async ({ by, caller, params }) => {
      await deleteDomain(world, by, { reach: caller.reach, id: params.id })
      return reply(204, null)
    }),
  ]
}
