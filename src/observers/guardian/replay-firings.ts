// When a rule would have fired, over rows that were read. Pure, linear in the rows, and in slices: a trial may look at
// 50,000 minutes and as many hours.
import { Tally } from '../../platform/fairness/tally.ts'
import type { Firing } from './contract.ts'
import { baselineOf, COUNTED, NOTHING, type Counters, type History } from './metric.ts'
import type { Chunk, CountedRow, LoginRow } from './replay-queries.ts'
import { isOver, limitOf, measured, type Rule } from './rule.ts'
import { NO_TENANT } from '../metrics/counters.ts'
import { BASELINE_MS } from './sums-queries.ts'

const HOUR_MS = 3_600_000
const FIRINGS_MAX = 1_000

interface Counted {
  minutes: readonly Chunk[]
  /** From seven days before, and an empty one where something was counted earlier; none where no average counts. */
  hours: readonly Chunk[]
}

export interface Replay {
  firings: Firing[]
  evaluated: number
}

type MinuteRow = CountedRow | LoginRow

/** Yields after each chunk. */
export function* replayCounted(rule: Rule, { minutes, hours }: Counted, from: Date): Generator<void, Replay> {
  const hoursByScope = yield* groupHours(hours)
  const firings: Firing[] = []
  let evaluated = 0
  let replay: ScopeReplay | null = null
  const endMinute = (): void => {
    const firing = replay?.endMinute(from.getTime())
    if (firing && firings.length < FIRINGS_MAX) firings.push(firing)
  }
  for (const chunk of minutes) {
    for (const row of JSON.parse(chunk.json) as MinuteRow[]) {
      if (!replay?.isAbout(row)) {
        endMinute()
        replay = new ScopeReplay(rule, row, hoursByScope.get(keyOf(row)) ?? [])
        evaluated++
      } else if (row.start_ms !== replay.minuteMs) {
        endMinute()
      }
      replay.add(row)
    }
    yield
  }
  endMinute()
  return { firings, evaluated }
}

const keyOf = (row: MinuteRow): string => `${row.tenant_id} ${row.scope_value}`

function* groupHours(hours: readonly Chunk[]): Generator<void, Map<string, CountedRow[]>> {
  const groups = new Map<string, CountedRow[]>()
  for (const chunk of hours) {
    for (const hour of JSON.parse(chunk.json) as CountedRow[]) {
      const group = groups.get(keyOf(hour))
      if (group) group.push(hour)
      else groups.set(keyOf(hour), [hour])
    }
    yield
  }
  return groups
}

/** Slides the window over the minutes of one scope in which something was counted. */
class ScopeReplay {
  readonly #rule: Rule
  readonly #first: MinuteRow
  readonly #windowMs: number
  readonly #window = new SlidingWindow()
  readonly #limitAt: (windowStartMs: number) => number
  #last: { firing: Firing; endMs: number } | null = null
  minuteMs = 0

  constructor(rule: Rule, first: MinuteRow, hours: readonly CountedRow[]) {
    this.#rule = rule
    this.#first = first
    this.#windowMs = rule.window_seconds * 1000
    this.#limitAt = limits(rule, hours)
  }

  isAbout({ scope_value, tenant_id }: MinuteRow): boolean {
    return scope_value === this.#first.scope_value && tenant_id === this.#first.tenant_id
  }

  add(row: MinuteRow): void {
    this.minuteMs = row.start_ms
    this.#window.add(row)
  }

  /** The firing that begins with this minute. What is over without a calm window is one firing: it goes on. */
  endMinute(fromMs: number): Firing | null {
    // As a pass at the end of this minute would see it.
    const now = this.minuteMs + 59_999
    this.#window.removeBefore(now - this.#windowMs)
    if (this.minuteMs < fromMs) return null
    const result = measured(this.#rule, this.#window.counters())
    const limit = this.#limitAt(now - this.#windowMs)
    if (!isOver(this.#rule, result, limit)) return null
    const at = new Date(this.minuteMs).toISOString()
    const peak = { peak_value: result.value, threshold: limit, volume: result.volume }
    const last = this.#last
    if (last && now - last.endMs < this.#windowMs) {
      Object.assign(last.firing, { to: at }, result.value > last.firing.peak_value && peak)
      last.endMs = now
      return null
    }
    const { tenant_id, scope_value } = this.#first
    const scope = `${this.#rule.scope_type}:${scope_value}`
    const firing = { scope, tenant_id: tenant_id === NO_TENANT ? null : tenant_id, from: at, to: at, ...peak }
    this.#last = { firing, endMs: now }
    return firing
  }
}

/** To be asked in the order of time. Averages change by the hour, so each is made once. */
function limits(rule: Rule, hours: readonly CountedRow[]): (windowStartMs: number) => number {
  let limit = limitOf(rule, null)
  if (hours.length === 0) return () => limit
  const past = new SlidingHistory(hours)
  let knownUntil: number | null = null
  return windowStartMs => {
    const until = Math.floor(windowStartMs / HOUR_MS) * HOUR_MS
    if (until !== knownUntil) {
      limit = limitOf(rule, baselineOf(rule.metric, rule.window_seconds, past.before(until)))
      knownUntil = until
    }
    return limit
  }
}

/** Sums over the seven days before a moment that only moves forward. They are whole numbers, so subtracting is exact. */
class SlidingHistory {
  readonly #hours: readonly CountedRow[]
  readonly #sums: Counters = { ...NOTHING }
  #oldest = 0
  #next = 0

  constructor(hours: readonly CountedRow[]) {
    this.#hours = hours
  }

  /** Null where nothing was counted before. */
  before(until: number): History | null {
    const startOf = (index: number): number => this.#hours[index]?.start_ms ?? Infinity
    while (startOf(this.#next) < until) addTo(this.#sums, this.#hours[this.#next++]!, 1)
    while (startOf(this.#oldest) < until - BASELINE_MS) addTo(this.#sums, this.#hours[this.#oldest++]!, -1)
    if (this.#next === 0) return null
    return { counters: this.#sums, seconds: Math.min(BASELINE_MS, until - startOf(0)) / 1000 }
  }
}

class SlidingWindow {
  readonly #rows: MinuteRow[] = []
  readonly #sums: Counters = { ...NOTHING }
  readonly #addresses = new Tally()
  #oldest = 0

  add(row: MinuteRow): void {
    this.#rows.push(row)
    this.#change(row, 1)
  }

  /** The minute that was added last always stays: no window is shorter. */
  removeBefore(startMs: number): void {
    while (this.#rows[this.#oldest]!.start_ms < startMs) this.#change(this.#rows[this.#oldest++]!, -1)
  }

  counters(): Counters {
    this.#sums.distinct_ips = this.#addresses.size
    return this.#sums
  }

  #change(row: MinuteRow, sign: 1 | -1): void {
    if ('address' in row) this.#addresses.add(row.address, sign)
    else addTo(this.#sums, row, sign)
  }
}

function addTo(sums: Counters, counted: Omit<Counters, 'distinct_ips'>, sign: 1 | -1): void {
  for (const name of COUNTED) sums[name] += sign * counted[name]
}
