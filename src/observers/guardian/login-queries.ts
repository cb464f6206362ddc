// Where logins came from: how many addresses in a window, and in windows of the seven days before. Reads the newest rows of a
// scope up to a bound: a stolen credential may be used from very many places.
import type { Db } from '../../platform/db/database.ts'
import { sql, type Sql } from '../../platform/db/sql.ts'
import { NOTHING, type History } from './metric.ts'
import type { Scope, ScopeType } from './rule.ts'
import { daysBefore, wanted, wantedSince, type Period, type Since } from './sums-queries.ts'

/** Addresses of a minute that one look at a scope reads: ten each minute of a day's working hours. */
export const LOGIN_ROWS_MAX = 10_000
/** The same for an average, which is read once in an hour. */
const HISTORY_ROWS_MAX = 50_000

/** How many addresses logged in to each credential, or to those of each tenant; 0 for other types of scope. */
export async function listDistinctAddresses(db: Db, scopeType: ScopeType, asked: readonly Since[], to: Date) {
  const counts = asked.map(() => 0)
  const column = addressColumn(scopeType)
  if (!column || asked.length === 0) return counts
  const rows = await db.many<{ n: number; total: number }>(sql`
    select w.n, s.total from ${wantedSince(asked)} cross join lateral (
      select count(distinct address) as total from (
        select a.address from credential_addresses a
        where a.${column} = w.scope_value::uuid and a.minute >= to_timestamp(w.since) and a.minute <= ${to}
        order by a.minute desc limit ${LOGIN_ROWS_MAX}) newest) s`)
  for (const { n, total } of rows) counts[n - 1] = total
  return counts
}

interface HistoryRow {
  n: number
  rows: number
  total: number
  /** The oldest of what was read. */
  oldest: Date | null
  /** The first login of the seven days. */
  first: Date | null
  is_older: boolean
}

/**
 * In the order of the scopes: the sum over windows of the addresses in each; null where there was never a login before. Where
 * there are more than are read, the days before are taken to be like those that were read.
 */
export async function listAddressHistories(
  db: Db,
  scopeType: ScopeType,
  scopes: readonly Scope[],
  { window, windowSeconds }: { window: Period; windowSeconds: number },
): Promise<(History | null)[]> {
  const histories = scopes.map((): History | null => null)
  const column = addressColumn(scopeType)
  if (!column || scopes.length === 0) return histories
  const { since, until } = daysBefore(window)
  const own = (at: Sql): Sql => sql`select a.minute, a.address from credential_addresses a
    where a.${column} = w.scope_value::uuid and ${at}`
  const within = own(sql`a.minute >= ${since} and a.minute < ${until}`)
  const rows = await db.many<HistoryRow>(sql`
    select w.n, s.*, (select minute from (${within} order by a.minute limit 1) f) as first,
      exists (${own(sql`a.minute < ${since}`)}) as is_older
    from ${wanted(scopes)} cross join lateral (
      select count(*) as rows, min(minute) as oldest,
        count(distinct (floor(extract(epoch from ${until}::timestamptz - minute) / ${windowSeconds}::integer),
          address)) as total
      from (${within} order by a.minute desc limit ${HISTORY_ROWS_MAX}) newest) s`)
  for (const { n, rows: read, total, oldest, first, is_older } of rows) {
    const begin = is_older ? since : first
    if (!begin) continue
    const seconds = (until.getTime() - begin.getTime()) / 1000
    const share = read < HISTORY_ROWS_MAX ? 1 : seconds / ((until.getTime() - oldest!.getTime()) / 1000)
    histories[n - 1] = { counters: { ...NOTHING, distinct_ips: total * share }, seconds }
  }
  return histories
}

const addressColumn = (scopeType: ScopeType): Sql | null =>
  scopeType === 'credential' ? sql`credential_id` : scopeType === 'tenant' ? sql`tenant_id` : null
