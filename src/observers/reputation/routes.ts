// Handler of /v1/reputation.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import type { Reach } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { getReputationEndpoint } from './contract.ts'
import { readReputation } from './standings.ts'

export const reputationRoutes = (world: World): Route[] => [
  route(getReputationEndpoint, async ({ caller, query }) => {
    const reach = narrowed(caller.reach, query.tenant_id)
    return reply(200, { rows: reach ? await readReputation(world, reach) : [] })
  }),
]

/** Null when nothing is left: a tenant-bound key asks for another tenant. */
function narrowed(reach: Reach, tenantId: string | undefined): Reach | null {
  if (tenantId === undefined) return reach
  if (reach.tenantId !== null && reach.tenantId !== tenantId.toLowerCase()) return null
  return { ...reach, tenantId }
}
