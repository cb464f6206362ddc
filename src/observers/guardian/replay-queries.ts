// Reading what was counted, minute by minute, for trying a rule out. Bounded: a caller who asks for more than this is
// told to ask for less.
import type { Reads } from '../../platform/db/database.ts'
import { all, sql, type Sql } from '../../platform/db/sql.ts'
import type { Counters } from './metric.ts'
import type { Scope, ScopeType } from './rule.ts'
import { ofEachCounter } from '../metrics/counters.ts'
import type { Period } from './sums-queries.ts'

export interface Wanted extends Period {
  accountId: string
  tenantId: string | null
  scopeType: ScopeType
  scopeValue: string | null
  limit: number
}

/** Some rows as one text: 50,000 that the driver takes apart as they come keep the main thread for 60 ms at a time. */
export interface Chunk {
  count: number
  /** An array of rows. */
  json: string
}

interface Row extends Pick<Scope, 'scope_value' | 'tenant_id'> {
  start_ms: number
}

export interface CountedRow extends Row, Omit<Counters, 'distinct_ips'> {}

export interface LoginRow extends Row {
  address: string
}

/** Parsing one takes about two milliseconds. */
const CHUNK_ROWS = 1_000

/** Chunks of `CountedRow`, one scope after the other, each in the order of time. */
export const listMinutes = (db: Reads, wanted: Wanted): Promise<Chunk[]> =>
  listChunks(db, countedIn(sql`metric_minutes`, wanted))

/** The same. A scope that something was counted for earlier begins with an empty hour: it has a history. */
export const listHours = (db: Reads, wanted: Wanted): Promise<Chunk[]> =>
  listChunks(
    db,
    sql`
      with counted as materialized (${countedIn(sql`metric_hours`, wanted)})
      select * from counted
      union all
      select scope_value, tenant_id, ${milliseconds(sql`${wanted.from}::timestamptz - interval '1 hour'`)},
        ${ofEachCounter(() => sql`0`)}
      from (select distinct scope_value, tenant_id from counted) c
      where exists (select from metric_hours o
        where o.account_id = ${wanted.accountId} and o.scope_type = ${wanted.scopeType} and o.scope_value = c.scope_value
          and o.tenant_id = c.tenant_id and o.start < ${wanted.from})`,
  )

const countedIn = (table: Sql, wanted: Wanted): Sql => sql`
  select scope_value, tenant_id, ${milliseconds(sql`start`)} as start_ms, ${ofEachCounter(counter => counter)}
  from ${table}
  where ${all([
    sql`account_id = ${wanted.accountId} and scope_type = ${wanted.scopeType}`,
    sql`start >= ${wanted.from} and start < ${wanted.to}`,
    wanted.tenantId !== null && sql`tenant_id = ${wanted.tenantId}`,
    wanted.scopeValue !== null && sql`scope_value = ${wanted.scopeValue}`,
  ])}
  order by scope_value, tenant_id, start limit ${wanted.limit}`

/** Chunks of `LoginRow` in the same order: logins of credentials, or of all credentials of a tenant. */
export const listLogins = (db: Reads, wanted: Wanted): Promise<Chunk[]> => {
  const value = wanted.scopeType === 'credential' ? sql`credential_id::text` : sql`tenant_id::text`
  return listChunks(
    db,
    sql`
      select ${value} as scope_value, tenant_id, ${milliseconds(sql`minute`)} as start_ms, address
      from credential_addresses
      where ${all([
        sql`account_id = ${wanted.accountId} and minute >= ${wanted.from} and minute < ${wanted.to}`,
        wanted.tenantId !== null && sql`tenant_id = ${wanted.tenantId}`,
        wanted.scopeValue !== null && sql`${value} = ${wanted.scopeValue}`,
      ])}
      order by scope_value, tenant_id, minute limit ${wanted.limit}`,
  )
}

const milliseconds = (moment: Sql): Sql => sql`(extract(epoch from ${moment}) * 1000)::bigint`

const listChunks = (db: Reads, rows: Sql): Promise<Chunk[]> =>
  db.many<Chunk>(sql`
    with numbered as (
      select row_to_json(r) as row, row_number() over (order by scope_value, tenant_id, start_ms) as n from (${rows}) r
    ), chunked as (
      select row, n, (n - 1) / ${CHUNK_ROWS}::integer as chunk from numbered
    )
    select count(*) as count, json_agg(row order by n)::text as json from chunked group by chunk order by chunk`)
