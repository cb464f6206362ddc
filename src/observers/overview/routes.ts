// Handlers of /v1/overview and /admin/v1/accounts/{id}/health.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import type { World } from '../../platform/world.ts'
import { getAccountHealthEndpoint, getOverviewEndpoint } from './contract.ts'
import { requireAccountRecord } from './queries.ts'
import { readAccountOverview, readOverview } from './read.ts'

export const overviewRoutes = (world: World): Route[] => [
  route(getOverviewEndpoint, async ({ caller }) => reply(200, await readOverview(world, caller.reach))),
  route(getAccountHealthEndpoint, async ({ params }) => {
    const account = await requireAccountRecord(world.db, params.id)
    const reach = { accountId: account.id, tenantId: null, inboxId: null }
    return reply(200, { ...(await readAccountOverview(world, reach)), account })
  }),
]
