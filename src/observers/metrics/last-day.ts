// What was counted in the last 24 hours, to the minute.
import type { Reach } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { listSums, type ScopeSum, type Span } from './queries.ts'

export type { ScopeSum } from './queries.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Sums per scope; a scope in which nothing happened is not among them. */
export async function sumLastDay(
  world: World,
  reach: Reach,
  types: readonly ScopeSum['scope_type'][],
): Promise<ScopeSum[]> {
  return listSums(world.db.lists, reach, { types, span: lastDay(world.clock.now()) })
}

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
