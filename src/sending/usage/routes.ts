// Handler of /v1/tenants/{id}/usage.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import type { World } from '../../platform/world.ts'
import { getUsageEndpoint } from './contract.ts'
import { readUsage } from './read.ts'

const DAYS_DEFAULT = 30

export const usageRoutes = (world: World): Route[] => [
  route(getUsageEndpoint, async ({ caller, params, query }) =>
    reply(200, await readUsage(world, caller.reach, params.id, query.days ?? DAYS_DEFAULT)),
  ),
]
