// How much was counted of a scope within a window, at the least and at the most, from the hours alone.
import type { Db } from '../../platform/db/database.ts'
import { hourAfter } from '../metrics/window.ts'
import { chunksOf } from './chunks.ts'
import { perScope, type HourCache } from './hour-cache.ts'
import { add, NOTHING } from './metric.ts'
import type { Scope, ScopeType } from './rule.ts'
import { hourBefore, listBounds, type Bounds } from './sums-queries.ts'

const HOUR_MS = 3_600_000

/**
 * The running hour and the one before are read afresh, so that a roll-up that lags behind is not taken for silence; older
 * ones are kept. Every window ends now, so that those two hours are read once for all of them: with a rule about the last
 * hour and one about the last day, reading them for each was two fifths of a pass.
 */
export class HourBounds {
  readonly #db: Db
  readonly #now: Date
  readonly #cache: HourCache
  readonly #recent = new Map<ScopeType, Map<Scope, Bounds>>()

  constructor(db: Db, now: Date, cache: HourCache) {
    this.#db = db
    this.#now = now
    this.#cache = cache
  }

  /** Since a moment. Undefined where kept hours could not be read in this pass. */
  async list(
    scopeType: ScopeType,
    scopes: readonly Scope[],
    from: Date,
  ): Promise<(scope: Scope) => Bounds | undefined> {
    const [since, fullHour] = [hourBefore(from), hourAfter(from)]
    const running = hourBefore(this.#now)
    const before = new Date(running.getTime() - HOUR_MS)
    const recent = await this.#listRecent(scopeType, scopes, { before, running })
    const recentOf = (scope: Scope): Bounds => {
      const { least: inRunning, most: inBoth } = recent.get(scope)!
      const least = fullHour <= before ? inBoth : fullHour <= running ? inRunning : NOTHING
      return { least, most: since <= before ? inBoth : inRunning }
    }
    if (since >= before) return recentOf
    const settledOf = await this.#cache.get(
      {
        name: `${scopeType} ${since.getTime()} ${before.getTime()}`,
        hours: (before.getTime() - since.getTime()) / HOUR_MS,
        items: scopes,
        ...perScope,
      },
      missing => listBounds(this.#db, scopeType, missing, { since, fullHour, until: before }),
    )
    return scope => {
      const [old, fresh] = [settledOf(scope), recentOf(scope)]
      return old && { least: add(old.least, fresh.least), most: add(old.most, fresh.most) }
    }
  }

  /** `least` is the running hour, `most` both hours. */
  async #listRecent(
    scopeType: ScopeType,
    scopes: readonly Scope[],
    { before, running }: { before: Date; running: Date },
  ): Promise<ReadonlyMap<Scope, Bounds>> {
    let known = this.#recent.get(scopeType)
    if (!known) this.#recent.set(scopeType, (known = new Map<Scope, Bounds>()))
    const missing = scopes.filter(scope => !known.has(scope))
    const hours = { since: before, fullHour: running, until: new Date(this.#now.getTime() + 1) }
    for (const chunk of chunksOf(missing)) {
      const bounds = await listBounds(this.#db, scopeType, chunk, hours)
      for (const [index, scope] of chunk.entries()) known.set(scope, bounds[index]!)
    }
    return known
  }
}
