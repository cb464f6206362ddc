// Counters over time: what was counted, with zeros in the gaps.
import type { Reach } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import type { MetricsQuery } from './contract.ts'
import { NOTHING } from './counters.ts'
import { countAddresses, listIntervals } from './queries.ts'
import { requireScope, type MetricScope } from './scope.ts'
import { minutesKeptFrom, startsOf, windowOf, type Window } from './window.ts'

export async function readMetrics(world: World, reach: Reach, query: MetricsQuery) {
  const window = windowOf(query, world.clock.now())
  const scope = await requireScope(world.db, reach, query)
  return {
    scope_type: scope.type,
    scope_value: scope.value,
    from: window.from.toISOString(),
    to: window.to.toISOString(),
    step: window.stepSeconds,
    intervals: await readIntervals(world, reach, scope, window),
  }
}

async function readIntervals(world: World, reach: Reach, scope: MetricScope, window: Window) {
  const isCredential = scope.type === 'credential'
  const [counted, used] = await Promise.all([
    listIntervals(world.db.lists, reach, { scope, window, minutesFrom: minutesKeptFrom(world.clock.now()) }),
    isCredential ? countAddresses(world.db.lists, reach, { credentialId: scope.value, window }) : [],
  ])
  const counters = new Map(counted.map(({ start, ...rest }) => [start.getTime(), rest]))
  const addresses = new Map(used.map(({ start, count }) => [start.getTime(), count]))
  return startsOf(window).map(start => ({
    start: start.toISOString(),
    ...(counters.get(start.getTime()) ?? NOTHING),
    ...(isCredential && { distinct_addresses: addresses.get(start.getTime()) ?? 0 }),
  }))
}
