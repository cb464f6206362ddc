// Handlers of /v1/set-aside.
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { nextIdCursor, pageOf, readIdCursor } from '../../platform/http/paging.ts'
import { LIMIT_DEFAULT } from '../../platform/http/schemas.ts'
import type { World } from '../../platform/world.ts'
import { cancelSetAside, releaseSetAside } from './decide.ts'
import { cancelSetAsideEndpoint, listSetAsideEndpoint, releaseSetAsideEndpoint } from './contract.ts'
import { listSetAside } from './queries.ts'

const LIST = 'set-aside'

export const setAsideRoutes = (world: World): Route[] => [
  route(listSetAsideEndpoint, async ({ caller, query }) => {
    const limit = query.limit ?? LIMIT_DEFAULT
    const after = readIdCursor(world.secrets, LIST, query.cursor)
    if (query.tenant_id) await requireTenantInReach(world.db, caller.reach, query.tenant_id)
    const filter = { tenantId: query.tenant_id ?? null, after, limit: limit + 1 }
    const page = pageOf(await listSetAside(world.db.lists, caller.reach, filter), limit)
    return reply(200, { deliveries: page.rows, next_cursor: nextIdCursor(world.secrets, LIST, page) })
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
