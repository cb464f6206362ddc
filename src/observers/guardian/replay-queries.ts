// Reading what was counted, minute by minute, for trying a rule out. Bounded: a caller who asks for more than this is
// told to ask for less.
import type { Db } from '../../platform/db/database.ts'
import { all, sql, type Sql } from '../../platform/db/sql.ts'
import type { Counters } from './metric.ts'
import type { Scope, ScopeType } from './rule.ts'
import type { Period } from './sums-queries.ts'

export interface Wanted extends Period {
  accountId: string
  tenantId: string | null
  scopeType: ScopeType
  scopeValue: string | null
  limit: number
}

export interface CountedRow extends Omit<Counters, 'distinct_ips'>, Scope {
  start: Date
}

export const listMinutes = (db: Pick<Db, 'many'>, wanted: Wanted): Promise<CountedRow[]> =>
  listCounted(db, sql`metric_minutes`, wanted)

export const listHours = (db: Pick<Db, 'many'>, wanted: Wanted): Promise<CountedRow[]> =>
  listCounted(db, sql`metric_hours`, wanted)

const listCounted = (db: Pick<Db, 'many'>, table: Sql, wanted: Wanted): Promise<CountedRow[]> =>
  db.many<CountedRow>(sql`
    select account_id, scope_type, scope_value, tenant_id, start, recipients, delivered, hard_bounces, soft_bounces, blocks,
      deferrals, complaints, auth_failures
    from ${table}
    where ${all([
      sql`account_id = ${wanted.accountId} and scope_type = ${wanted.scopeType}`,
      sql`start >= ${wanted.from} and start < ${wanted.to}`,
      wanted.tenantId !== null && sql`tenant_id = ${wanted.tenantId}`,
      wanted.scopeValue !== null && sql`scope_value = ${wanted.scopeValue}`,
    ])}
    order by scope_value, tenant_id, start limit ${wanted.limit}`)

export interface LoginRow extends Scope {
  start: Date
  address: string
}

/** Logins of credentials, or of all credentials of a tenant. */
export const listLogins = (db: Pick<Db, 'many'>, wanted: Wanted): Promise<LoginRow[]> => {
  const value = wanted.scopeType === 'credential' ? sql`credential_id::text` : sql`tenant_id::text`
  return db.many<LoginRow>(sql`
    select account_id, ${wanted.scopeType} as scope_type, ${value} as scope_value, tenant_id, minute as start, address
    from credential_addresses
    where ${all([
      sql`account_id = ${wanted.accountId} and minute >= ${wanted.from} and minute < ${wanted.to}`,
      wanted.tenantId !== null && sql`tenant_id = ${wanted.tenantId}`,
      wanted.scopeValue !== null && sql`${value} = ${wanted.scopeValue}`,
    ])}
    order by scope_value, tenant_id, start limit ${wanted.limit}`)
}
