// Handler of /v1/metrics.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import type { World } from '../../platform/world.ts'
import { getMetricsEndpoint } from './contract.ts'
import { readMetrics } from './series.ts'

export const metricRoutes = (world: World): Route[] => [
  route(getMetricsEndpoint, async ({ caller, query }) => reply(200, await readMetrics(world, caller.reach, query))),
]
