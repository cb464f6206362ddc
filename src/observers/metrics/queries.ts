// Reading the roll-ups.
import type { Db, Reads } from '../../platform/db/database.ts'
import { all, sql, type Sql } from '../../platform/db/sql.ts'
import { within, type Reach } from '../../platform/principal.ts'
import { NO_TENANT, ofEachCounter, type Counters } from './counters.ts'
import type { MetricScope } from './scope.ts'
import { hourAfter, type Window } from './window.ts'

const sums = ofEachCounter(counter => sql`sum(${counter})::bigint as ${counter}`)

const binOf = (column: Sql, { from, stepSeconds }: Window): Sql =>
  sql`date_bin(make_interval(secs => ${stepSeconds}), ${column}, ${from}::timestamptz)`

/** Intervals in which something was counted. `minutesFrom`: where minutes may be missing before it. */
export function listIntervals(
  db: Reads,
  { accountId }: Reach,
  { scope, window, minutesFrom }: { scope: MetricScope; window: Window; minutesFrom: Date },
): Promise<(Counters & { start: Date })[]> {
  const wanted = sql`account_id = ${accountId} and scope_type = ${scope.type} and scope_value = ${scope.value}
    and ${ofTenants(scope, accountId)}`
  return db.many(sql`
    select ${binOf(sql`start`, window)} as start, ${sums} from (${countedIn(wanted, window, minutesFrom)}) counted
    group by 1`)
}

/** From hours where the steps are whole hours; otherwise from minutes, and hours for those that are no longer kept. */
function countedIn(wanted: Sql, { from, to, stepSeconds }: Window, minutesFrom: Date): Sql {
  const rowsOf = (table: Sql, since: Date, until: Date): Sql => sql`
    select start, ${ofEachCounter(counter => counter)} from ${table}
    where ${wanted} and start >= ${since} and start < ${until}`
  if (stepSeconds % 3600 === 0) return rowsOf(sql`metric_hours`, from, to)
  const minutes = rowsOf(sql`metric_minutes`, from, to)
  const hoursFrom = hourAfter(from)
  const hoursTo = new Date(Math.min(hourAfter(to).getTime(), minutesFrom.getTime()))
  if (hoursFrom >= hoursTo) return minutes
  // Less the minutes of these hours that are still there: those of an account under legal hold all are.
  return sql`${minutes} union all ${rowsOf(sql`metric_hours`, hoursFrom, hoursTo)} union all
    select date_bin('1 hour', start, ${hoursFrom}::timestamptz), ${ofEachCounter(counter => sql`- ${counter}`)}
    from metric_minutes where ${wanted} and start >= ${hoursFrom} and start < ${hoursTo}`
}

/**
 * An account-wide key sends for any tenant. Naming them all lets the primary key be asked for each one's days, where
 * it would be scanned from the first minute that is kept.
 */
function ofTenants({ type, tenantId }: MetricScope, accountId: string): Sql {
  if (tenantId !== null) return sql`tenant_id = ${tenantId}`
  if (type !== 'api_key') return sql`true`
  return sql`tenant_id = any(array(
    select id from tenants where account_id = ${accountId} union all select ${NO_TENANT}::uuid))`
}

/** Where an SMTP credential was used from: different addresses per interval. */
export const countAddresses = (
  db: Reads,
  reach: Reach,
  { credentialId, window }: { credentialId: string; window: Window },
): Promise<{ start: Date; count: number }[]> =>
  db.many(sql`
    select ${binOf(sql`minute`, window)} as start, count(distinct address) as count from credential_addresses
    where credential_id = ${credentialId} and ${within(reach)} and minute >= ${window.from} and minute < ${window.to}
    group by 1`)

/** A revoked key still has a past. */
export const findKeyOrCredential = (db: Db, reach: Reach, type: 'credential' | 'api_key', id: string) =>
  db.maybe<{ id: string; tenant_id: string | null }>(sql`
    select id, tenant_id from ${type === 'credential' ? sql`smtp_credentials` : sql`api_keys`}
    where id = ${id} and ${within(reach)}`)

/**
 * Sums since a minute, from the fewest rows: whole hours, and the minutes by which the first hour is too short or too
 * long. `sign` says which.
 */
export interface Span {
  hoursFrom: Date
  minutesFrom: Date
  minutesTo: Date
  sign: 1 | -1
}

type TenantSum = Counters & { tenant_id: string }
export type DomainSum = TenantSum & { scope_value: string }

/** One row for the account (of no tenant), or one per tenant. Grouping by text as well took a fifth longer. */
export const listSums = (db: Reads, reach: Reach, { type, span }: { type: 'account' | 'tenant'; span: Span }) => {
  // Says a tenant's own rows by their key as well, so that the others' are not scanned.
  const isOwn = reach.tenantId !== null && sql`scope_value = ${reach.tenantId}`
  const wanted = all([within(reach), sql`scope_type = ${type}`, isOwn])
  return db.many<TenantSum>(sumsWhere(wanted, { keys: sql`tenant_id`, span }))
}

export const listDomainSums = (db: Reads, reach: Reach, span: Span): Promise<DomainSum[]> => {
  const wanted = all([within(reach), sql`scope_type = 'domain'`])
  return db.many<DomainSum>(sumsWhere(wanted, { keys: sql`tenant_id, scope_value`, span }))
}

const sumsWhere = (
  wanted: Sql,
  { keys, span: { hoursFrom, minutesFrom, minutesTo, sign } }: { keys: Sql; span: Span },
) =>
  sql`
    select ${keys}, ${sums} from (
      select ${keys}, ${ofEachCounter(counter => counter)} from metric_hours
      where ${wanted} and start >= ${hoursFrom}
      union all
      select ${keys}, ${ofEachCounter(counter => sql`${sign} * ${counter}`)} from metric_minutes
      where ${wanted} and start >= ${minutesFrom} and start < ${minutesTo}
    ) counted
    group by ${keys}`
