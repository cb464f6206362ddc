// Handlers of /v1/tenants.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage } from '../../platform/http/paging.ts'
import { missing } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { createTenantEndpoint, getTenantEndpoint, listTenantsEndpoint, updateTenantEndpoint } from './contract.ts'
import { createTenant } from './create.ts'
import { listTenants, tenantReader } from './queries.ts'
import { updateTenant } from './update.ts'

export function tenantRoutes(world: World): Route[] {
  const tenants = tenantReader(world.db)
  return [
    route(createTenantEndpoint, async ({ by, caller, body }) =>
      reply(201, await createTenant(world, by, caller.reach, body)),
    ),
    route(listTenantsEndpoint, async ({ caller, query }) => {
      const { rows, next_cursor } = await readPage(world.secrets, 'tenants', query, keyset =>
        listTenants(world.db.lists, caller.reach, { externalId: query.external_id ?? null, ...keyset }),
      )
      return reply(200, { tenants: rows, next_cursor })
    }),
    route(getTenantEndpoint, async ({ caller, params }) => {
      const tenant = await tenants.submit({ reach: caller.reach, id: params.id })
      return reply(200, tenant ?? missing('tenant'))
    }),
    route(updateTenantEndpoint, async ({ by, caller, params, body }) =>
      reply(200, await updateTenant(world, by, { reach: caller.reach, id: params.id, patch: body })),
    ),
  ]
}
