// What was counted in the last 24 hours, to the minute.
import type { Reach } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { listDomainSums, listSums, type DomainSum, type Span } from './queries.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** By tenant; the account's own sum stands under NO_TENANT. Where nothing happened there is no entry. */
export async function sumLastDay(world: World, reach: Reach, type: 'account' | 'tenant') {
  const sums = await listSums(world.db.lists, reach, { type, span: lastDay(world.clock.now()) })
  return new Map(sums.map(({ tenant_id, ...counters }) => [tenant_id, counters]))
}

export const sumDomainsLastDay = (world: World, reach: Reach): Promise<DomainSum[]> =>
  listDomainSums(world.db.lists, reach, lastDay(world.clock.now()))

/**
 * The minute that began 24 hours ago lies within an hour. The nearer end of that hour is where whole hours begin, so that
 * at most thirty rows of minutes are read per scope: added when they come before it, taken off when after.
 */
export function lastDay(now: Date): Span {
  const from = Math.floor((now.getTime() - DAY_MS) / MINUTE_MS) * MINUTE_MS
  const nearest = Math.round(from / HOUR_MS) * HOUR_MS
  const [minutesFrom, minutesTo] = [Math.min(from, nearest), Math.max(from, nearest)]
  return {
    hoursFrom: new Date(nearest),
    minutesFrom: new Date(minutesFrom),
    minutesTo: new Date(minutesTo),
    sign: from < nearest ? 1 : -1,
  }
}
