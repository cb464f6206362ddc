// Sums over the roll-ups, for many scopes in one statement. A window is read as the minutes before its first full hour
// and hours from there on; the running hour's row holds what was counted so far.
import type { Db } from '../../platform/db/database.ts'
import { prepared, sql, type Sql } from '../../platform/db/sql.ts'
import { COUNTED, NOTHING, type Counters, type History } from './metric.ts'
import { type Scope, type ScopeType } from './rule.ts'
import { NO_TENANT, ofEachCounter } from '../metrics/counters.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
/** The time that a baseline looks back. */
export const BASELINE_MS = 7 * 24 * HOUR_MS

export interface Period {
  from: Date
  to: Date
}

/** The minutes that lie whole in the window, and the running one: nothing older than the window counts. */
export const windowBefore = (now: Date, windowSeconds: number): Period => ({
  from: new Date(Math.ceil((now.getTime() - windowSeconds * 1000) / MINUTE_MS) * MINUTE_MS),
  to: now,
})

/** Doubles are exact for whole numbers of this size; sums of bigint are made with numeric, at twice the time. */
const sums = ofEachCounter(counter => sql`coalesce(sum(${counter}::float8), 0) as ${counter}`)
const columns = ofEachCounter(counter => counter)

/** The scopes as rows `w`, numbered from 1. */
export const wanted = (scopes: readonly Scope[]): Sql => sql`
  unnest(${scopes.map(scope => scope.account_id)}::uuid[], ${scopes.map(scope => scope.scope_value)}::text[],
    ${scopes.map(scope => scope.tenant_id)}::uuid[]) with ordinality as w (account_id, scope_value, tenant_id, n)`

interface SumsRow extends Omit<Counters, 'distinct_ips'> {
  n: number
}

/** What happened in a scope from then on. */
export interface Since {
  scope: Scope
  from: Date
}

export const wantedSince = (asked: readonly Since[]): Sql => sql`
  unnest(${asked.map(({ scope }) => scope.account_id)}::uuid[], ${asked.map(({ scope }) => scope.scope_value)}::text[],
    ${asked.map(({ scope }) => scope.tenant_id)}::uuid[], ${asked.map(({ from }) => from.getTime() / 1000)}::float8[])
    with ordinality as w (account_id, scope_value, tenant_id, since, n)`

/**
 * Exact, in the order of the scopes, which are all of one type. A minute's row of each scope lies on a page of its own:
 * 60 for each of 10,000 tenants took seconds, so that only suspects are looked at so closely (find-over.ts).
 */
export async function listSums(db: Db, scopeType: ScopeType, asked: readonly Since[], to: Date): Promise<Counters[]> {
  const fullHour = sql`to_timestamp(ceil(w.since / 3600) * 3600)`
  const rows = await db.many<SumsRow>(prepared`
    select w.n, s.* from ${wantedSince(asked)} cross join lateral (
      select ${sums} from (
        select ${columns} from metric_minutes m
        where m.account_id = w.account_id and m.scope_type = ${scopeType} and m.scope_value = w.scope_value
          and m.tenant_id = w.tenant_id and m.start >= to_timestamp(w.since) and m.start < ${fullHour} and m.start <= ${to}
        union all
        select ${columns} from metric_hours h
        where h.account_id = w.account_id and h.scope_type = ${scopeType} and h.scope_value = w.scope_value
          and h.tenant_id = w.tenant_id and h.start >= ${fullHour} and h.start <= ${to}
      ) part) s`)
  const counters = asked.map((): Counters => ({ ...NOTHING }))
  for (const { n, ...counted } of rows) counters[n - 1] = { ...counted, distinct_ips: 0 }
  return counters
}

export const hourBefore = (moment: Date): Date => new Date(Math.floor(moment.getTime() / HOUR_MS) * HOUR_MS)

/** What lies for certain in a window, and what may: the hour that the window begins in counts only in part. */
export interface Bounds {
  least: Counters
  most: Counters
}

/** From the hours alone: those from `fullHour` on for certain, those before it perhaps. In the order of the scopes. */
export async function listBounds(
  db: Db,
  scopeType: ScopeType,
  scopes: readonly Scope[],
  { since, fullHour, until }: { since: Date; fullHour: Date; until: Date },
): Promise<Bounds[]> {
  const rows = await db.many<SumsRow & Record<string, number>>(prepared`
    select w.n, s.* from ${wanted(scopes)} cross join lateral (
      select ${sums}, ${leastSums(fullHour)} from metric_hours h
      where h.account_id = w.account_id and h.scope_type = ${scopeType} and h.scope_value = w.scope_value
        and h.tenant_id = w.tenant_id and h.start >= ${since} and h.start < ${until}) s`)
  const bounds = scopes.map((): Bounds => ({ least: NOTHING, most: NOTHING }))
  for (const row of rows) {
    const [least, most] = [{ ...NOTHING }, { ...NOTHING }]
    for (const [name, ofLeast] of LEAST) {
      most[name] = row[name]
      least[name] = row[ofLeast]!
    }
    bounds[row.n - 1] = { least, most }
  }
  return bounds
}

const LEAST = COUNTED.map(name => [name, `least_${name}`] as const)

const leastSums = (fullHour: Date): Sql =>
  ofEachCounter(
    counter => sql`coalesce(sum(${counter}::float8) filter (where start >= ${fullHour}), 0) as least_${counter}`,
  )

/** The seven days before a window, in whole hours. */
export const daysBefore = ({ from }: Period): { since: Date; until: Date } => {
  const until = hourBefore(from)
  return { since: new Date(until.getTime() - BASELINE_MS), until }
}

/** In the order of the scopes; null where nothing was ever counted before. A scope that was silent has an average of 0. */
export async function listHistories(db: Db, scopeType: ScopeType, scopes: readonly Scope[], window: Period) {
  const { since, until } = daysBefore(window)
  const rows = await db.many<SumsRow & { first: Date | null; is_older: boolean }>(prepared`
    select w.n, s.*, exists (select from metric_hours o
      where o.account_id = w.account_id and o.scope_type = ${scopeType} and o.scope_value = w.scope_value
        and o.tenant_id = w.tenant_id and o.start < ${since}) as is_older
    from ${wanted(scopes)} cross join lateral (
      select ${sums}, min(h.start) as first from metric_hours h
      where h.account_id = w.account_id and h.scope_type = ${scopeType} and h.scope_value = w.scope_value
        and h.tenant_id = w.tenant_id and h.start >= ${since} and h.start < ${until}) s`)
  const histories = scopes.map((): History | null => null)
  for (const { n, first, is_older, ...counted } of rows) {
    const begin = is_older ? since : first
    if (!begin) continue
    histories[n - 1] = {
      counters: { ...counted, distinct_ips: 0 },
      seconds: (until.getTime() - begin.getTime()) / 1000,
    }
  }
  return histories
}

interface Active {
  /** Counted, or logged in, not before this. */
  since: Date
  /** Of accounts whose rules changed not before `since`: counted not before this. */
  longSince: Date
  now: Date
}

/**
 * Scopes in which something happened. Domains, senders and keys only where the account has a rule about such; of an account
 * with too many, those that the platform's rules are about and others by chance: the same ones for an hour, so that what
 * was read about them is of use to the passes that follow, and then others. `cut`: accounts that have more of them.
 */
export async function listActiveScopesAnywhere(
  db: Db,
  { since, longSince, now }: Active,
  { overrides, perAccount }: { overrides: readonly RuledScope[]; perAccount: number },
) {
  const rows = await db.many<Scope & { is_cut: boolean }>(sql`
    with changed as (select account_id from rule_changes where changed_at >= ${since}),
    ruled as (select distinct account_id, scope_type from unnest(${overrides.map(each => each.account_id)}::uuid[],
      ${overrides.map(each => each.scope_type)}::text[]) as r (account_id, scope_type)),
    active as (
      select account_id, scope_type, scope_value, tenant_id from metric_activity
      where counted_at >= ${since} and ${isRuled}
      union
      select account_id, scope_type, scope_value, tenant_id from metric_activity
      where account_id = any(array(select account_id from changed)) and counted_at >= ${longSince} and ${isRuled}
      union
      select account_id, 'credential', credential_id::text, tenant_id from credential_addresses
      where minute >= date_trunc('minute', ${since}::timestamptz) and minute <= ${now}
      union
      select account_id, 'tenant', tenant_id::text, tenant_id from credential_addresses
      where minute >= date_trunc('minute', ${since}::timestamptz) and minute <= ${now}
    ), over_limit as (
      select account_id from active group by account_id having count(*) > ${perAccount}
    ), ranked as (
      select a.*, row_number() over (partition by account_id order by scope_type not in ('tenant', 'credential'),
        hashtextextended(scope_value, ${hourBefore(now).getTime()})) as rank
      from active a where account_id in (select account_id from over_limit)
    )
    select account_id, scope_type, scope_value, tenant_id, false as is_cut from active
    where account_id not in (select account_id from over_limit)
    union all
    select account_id, scope_type, scope_value, tenant_id, true from ranked where rank <= ${perAccount}`)
  const cut = new Set<string>()
  const scopes = rows.map(({ is_cut, ...scope }) => {
    if (is_cut) cut.add(scope.account_id)
    return scope
  })
  return { scopes, cut }
}

const isRuled: Sql = sql`
  scope_type <> 'account' and (scope_type in ('tenant', 'credential')
    or (account_id, scope_type) in (select account_id, scope_type from ruled))`

interface RuledScope {
  account_id: string
  scope_type: ScopeType
}

/** Recipients that the tenant sent to within the period. */
export const countRecipients = async (db: Db, { account_id, tenant_id }: Scope, period: Period): Promise<number> => {
  if (tenant_id === NO_TENANT) return 0
  const tenant: Scope = { account_id, tenant_id, scope_type: 'tenant', scope_value: tenant_id }
  return (await listSums(db, 'tenant', [{ scope: tenant, from: period.from }], period.to))[0]!.recipients
}
