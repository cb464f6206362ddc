// Trying a rule out over what was counted: when it would have fired, and for which scopes. Reads only.
import { normaliseAddress, normaliseDomain } from '../../mail/address/address.ts'
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import type { Db } from '../../platform/db/database.ts'
import { Tally } from '../../platform/fairness/tally.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import type { Firing, RuleTest } from './contract.ts'
import { baselineOf, NOTHING, type Counters, type History } from './metric.ts'
import { listHours, listLogins, listMinutes, type CountedRow, type LoginRow, type Wanted } from './replay-queries.ts'
import { isOver, limitOf, measured, scopeKey, type Rule, type Scope, type ScopeType } from './rule.ts'
import { NO_TENANT } from '../metrics/counters.ts'
import { withDefaults } from './save.ts'
import { BASELINE_MS } from './sums-queries.ts'

const PERIOD_MS_MAX = 31 * 86_400_000
/** A tenant that was active in every minute of 31 days has 44,640; reading them takes a few milliseconds. */
const ROWS_MAX = 50_000
const FIRINGS_MAX = 1_000
const HOUR_MS = 3_600_000

interface Replay {
  firings: Firing[]
  evaluated: number
}

export async function replayRule(world: World, reach: Reach, wanted: RuleTest): Promise<Replay> {
  const [from, to] = [new Date(wanted.from), new Date(wanted.to)]
  if (!(from < to)) throw refuse('invalid_request', 'to must be after from.')
  if (to.getTime() - from.getTime() > PERIOD_MS_MAX)
    throw refuse('invalid_request', 'to is more than 31 days after from.')
  const tenantId = wanted.tenant_id ?? reach.tenantId
  if (tenantId !== null) await requireTenantInReach(world.db, reach, tenantId)
  const rule: Rule = { id: NO_TENANT, ...withDefaults({ name: 'test', action: 'alert', ...wanted }) }
  const steps = await listSteps(world.db.lists, rule, {
    accountId: reach.accountId,
    tenantId,
    scopeType: rule.scope_type,
    scopeValue: wanted.scope_value === undefined ? null : asCounted(rule.scope_type, wanted.scope_value),
    from,
    to,
    limit: ROWS_MAX + 1,
  })
  const firings = steps.flatMap(scope => firingsOf(rule, scope, from))
  return { firings: firings.slice(0, FIRINGS_MAX), evaluated: steps.length }
}

/** As the roll-ups name it; what cannot be one is found nowhere. */
function asCounted(type: ScopeType, value: string): string {
  if (type === 'domain') return normaliseDomain(value) ?? value
  return type === 'sender' ? normaliseAddress(value).toLowerCase() : value.toLowerCase()
}

/** One scope: its minutes in order, and the hours before them where averages count. */
interface Steps {
  scope: Scope
  minutes: Minute[]
  hours: CountedRow[]
}

interface Minute {
  start: Date
  counters: Counters
  addresses: string[]
}

async function listSteps(db: Pick<Db, 'many'>, rule: Rule, wanted: Wanted): Promise<Steps[]> {
  const windowMs = rule.window_seconds * 1000
  const early: Wanted = { ...wanted, from: new Date(wanted.from.getTime() - windowMs) }
  if (rule.metric === 'distinct_ips') {
    if (rule.scope_type !== 'credential' && rule.scope_type !== 'tenant') return []
    const logins = bounded(await listLogins(db, early))
    return grouped(logins).map(rows => ({ scope: rows[0]!, minutes: minutesOfLogins(rows), hours: [] }))
  }
  const minutes = bounded(await listMinutes(db, early))
  const beforeThat = new Date(early.from.getTime() - BASELINE_MS)
  const hours = rule.baseline_multiplier === null ? [] : bounded(await listHours(db, { ...wanted, from: beforeThat }))
  const hoursByScope = Map.groupBy(hours, scopeKey)
  return grouped(minutes).map(rows => ({
    scope: rows[0]!,
    minutes: rows.map(row => ({ start: row.start, counters: { ...row, distinct_ips: 0 }, addresses: [] })),
    hours: hoursByScope.get(scopeKey(rows[0]!)) ?? [],
  }))
}

function bounded<Row>(rows: Row[]): Row[] {
  if (rows.length <= ROWS_MAX) return rows
  throw refuse('invalid_request', 'This is too much to look at. Shorten the period, or name a tenant or a scope_value.')
}

const grouped = <Row extends Scope>(rows: Row[]): Row[][] => [...Map.groupBy(rows, scopeKey).values()]

const minutesOfLogins = (rows: readonly LoginRow[]): Minute[] =>
  [...Map.groupBy(rows, row => row.start.getTime()).values()].map(logins => ({
    start: logins[0]!.start,
    counters: NOTHING,
    addresses: logins.map(login => login.address),
  }))

/** Slides the window over the minutes in which something was counted. What is over without a calm window is one. */
function firingsOf(rule: Rule, { scope, minutes, hours }: Steps, from: Date): Firing[] {
  const windowMs = rule.window_seconds * 1000
  const window = new SlidingWindow()
  const firings: (Firing & { lastMs: number })[] = []
  const limitAt = limits(rule, hours)
  let oldest = 0
  for (const minute of minutes) {
    window.add(minute)
    // As a pass at the end of this minute would see it.
    const now = minute.start.getTime() + 59_999
    while (minutes[oldest]!.start.getTime() < now - windowMs) window.remove(minutes[oldest++]!)
    if (minute.start < from) continue
    const result = measured(rule, window.counters)
    const limit = limitAt(now - windowMs)
    if (!isOver(rule, result, limit)) continue
    const at = minute.start.toISOString()
    const current = firings.at(-1)
    const peak = { peak_value: result.value, threshold: limit, volume: result.volume }
    if (current && now - current.lastMs < windowMs) {
      Object.assign(current, { to: at, lastMs: now }, result.value > current.peak_value && peak)
    } else {
      const tenantId = scope.tenant_id === NO_TENANT ? null : scope.tenant_id
      const name = `${scope.scope_type}:${scope.scope_value}`
      firings.push({ scope: name, tenant_id: tenantId, from: at, to: at, ...peak, lastMs: now })
    }
  }
  return firings.map(({ lastMs: _, ...firing }) => firing)
}

/** Averages change by the hour, so each is made once. */
function limits(rule: Rule, hours: readonly CountedRow[]): (windowStartMs: number) => number {
  if (rule.baseline_multiplier === null) return () => limitOf(rule, null)
  const known = new Map<number, number>()
  return windowStartMs => {
    const until = Math.floor(windowStartMs / HOUR_MS) * HOUR_MS
    let limit = known.get(until)
    if (limit === undefined) {
      const baseline = baselineOf(rule.metric, rule.window_seconds, historyBefore(hours, until))
      known.set(until, (limit = limitOf(rule, baseline)))
    }
    return limit
  }
}

function historyBefore(hours: readonly CountedRow[], until: number): History | null {
  const counters = { ...NOTHING }
  let first: number | null = null
  for (const hour of hours) {
    const start = hour.start.getTime()
    if (start < until - BASELINE_MS || start >= until) continue
    first ??= start
    addTo(counters, hour, 1)
  }
  return first === null ? null : { counters, seconds: (until - first) / 1000 }
}

class SlidingWindow {
  readonly counters: Counters = { ...NOTHING }
  readonly #addresses = new Tally()

  add({ counters, addresses }: Minute): void {
    addTo(this.counters, counters, 1)
    for (const address of addresses) this.#addresses.add(address)
    this.counters.distinct_ips = this.#addresses.size
  }

  remove({ counters, addresses }: Minute): void {
    addTo(this.counters, counters, -1)
    for (const address of addresses) this.#addresses.add(address, -1)
    this.counters.distinct_ips = this.#addresses.size
  }
}

const NAMES = Object.keys(NOTHING).filter(name => name !== 'distinct_ips') as Exclude<keyof Counters, 'distinct_ips'>[]

function addTo(sums: Counters, counted: Omit<Counters, 'distinct_ips'>, sign: 1 | -1): void {
  for (const name of NAMES) sums[name] += sign * counted[name]
}
