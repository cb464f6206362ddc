// Handlers of /v1/set-aside.
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage } from '../../platform/http/paging.ts'
import type { World } from '../../platform/world.ts'
import { cancelSetAside, releaseSetAside } from './decide.ts'
import { cancelSetAsideEndpoint, listSetAsideEndpoint, releaseSetAsideEndpoint } from './contract.ts'
import { listSetAside } from './queries.ts'

export const setAsideRoutes = (world: World): Route[] => [
  route(listSetAsideEndpoint, async ({ caller, query }) => {
    const { rows, next_cursor } = await readPage(world.secrets, 'set-aside', query, async keyset => {
      if (query.tenant_id) await requireTenantInReach(world.db, caller.reach, query.tenant_id)
      return listSetAside(world.db.lists, caller.reach, { tenantId: query.tenant_id ?? null, ...keyset })
    })
    return reply(200, { deliveries: rows, next_cursor })
  }),
  route(releaseSetAsideEndpoint, async ({ by, caller, params }) => {
    const { accountId } = caller.reach
    const decided = await releaseSetAside(world, by, { accountId, id: params.id })
    world.wakeups.hint('deliveries')
    return reply(200, decided)
  }),
  route(cancelSetAsideEndpoint, async ({ by, caller, params }) => {
    const { accountId } = caller.reach
    return reply(200, await world.db.transact(by, tx => cancelSetAside(tx, { accountId, id: params.id })))
  }),
]
