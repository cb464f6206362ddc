// Handlers of /v1/api-keys.
import { done, reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage } from '../../platform/http/paging.ts'
import type { World } from '../../platform/world.ts'
import { createKeyEndpoint, listKeysEndpoint, revokeKeyEndpoint, rotateKeyEndpoint } from './contract.ts'
import { createKey } from './create.ts'
import { listKeys } from './queries.ts'
import { revokeKey, rotateKey } from './rotate.ts'
import { requireTenantInReach } from '../tenants/find.ts'

export const apiKeyRoutes = (world: World): Route[] => [
  route(createKeyEndpoint, async ({ by, caller, body }) => reply(201, await createKey(world, by, caller.reach, body))),
  route(listKeysEndpoint, async ({ caller, query }) => {
    const { rows, next_cursor } = await readPage(world.secrets, 'api-keys', query, async keyset => {
      if (query.tenant_id) await requireTenantInReach(world.db, caller.reach, query.tenant_id)
      return listKeys(world.db, caller.reach, { tenantId: query.tenant_id ?? null, ...keyset })
    })
    return reply(200, { keys: rows, next_cursor })
  }),
  route(revokeKeyEndpoint, ({ by, caller, params }) => done(revokeKey(world, by, caller.reach, params.id))),
  route(rotateKeyEndpoint, async ({ by, caller, params }) => reply(200, await rotateKey(world, by, caller, params.id))),
]
