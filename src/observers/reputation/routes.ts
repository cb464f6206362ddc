// Handler of /v1/reputation.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import type { World } from '../../platform/world.ts'
import { getReputationEndpoint } from './contract.ts'
import { readReputation } from './standings.ts'

export const reputationRoutes = (world: World): Route[] => [
  route(getReputationEndpoint, async ({ caller, query }) => {
    const { tenant_id: tenantId } = query
    if (tenantId !== undefined) await requireTenantInReach(world.db, caller.reach, tenantId)
    const reach = tenantId === undefined ? caller.reach : { ...caller.reach, tenantId }
    return reply(200, { rows: await readReputation(world, reach) })
  }),
]
