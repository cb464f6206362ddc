// Reading the roll-ups.
import type { Db } from '../../platform/db/database.ts'
import { all, sql, type Sql } from '../../platform/db/sql.ts'
import { within, type Reach } from '../../platform/principal.ts'
import { NO_TENANT, type Counters } from './counters.ts'
import type { MetricScope } from './scope.ts'
import type { Window } from './window.ts'

const sums = sql`sum(recipients)::bigint as recipients, sum(delivered)::bigint as delivered,
  sum(hard_bounces)::bigint as hard_bounces, sum(soft_bounces)::bigint as soft_bounces, sum(blocks)::bigint as blocks,
  sum(deferrals)::bigint as deferrals, sum(complaints)::bigint as complaints,
  sum(auth_failures)::bigint as auth_failures`

/** The table is one whose rows fit into the steps: hours where these are whole hours. */
const rowsFor = ({ stepSeconds }: Window): Sql => (stepSeconds % 3600 === 0 ? sql`metric_hours` : sql`metric_minutes`)

const binOf = (column: Sql, { from, stepSeconds }: Window): Sql =>
  sql`date_bin(make_interval(secs => ${stepSeconds}), ${column}, ${from}::timestamptz)`

/** Intervals in which something was counted. */
export const listIntervals = (
  db: Pick<Db, 'many'>,
  { accountId }: Reach,
  { scope, window }: { scope: MetricScope; window: Window },
): Promise<(Counters & { start: Date })[]> =>
  db.many(sql`
    select ${binOf(sql`start`, window)} as start, ${sums} from ${rowsFor(window)}
    where account_id = ${accountId} and scope_type = ${scope.type} and scope_value = ${scope.value}
      and ${ofTenants(scope, accountId)} and start >= ${window.from} and start < ${window.to}
    group by 1`)

/**
 * An account-wide key sends for any tenant. Naming them all lets the primary key be asked for each one's days, where
 * it would be walked from the first minute that is kept.
 */
function ofTenants({ type, tenantId }: MetricScope, accountId: string): Sql {
  if (tenantId !== null) return sql`tenant_id = ${tenantId}`
  if (type !== 'api_key') return sql`true`
  return sql`tenant_id = any(array(
    select id from tenants where account_id = ${accountId} union all select ${NO_TENANT}::uuid))`
}

/** Where an SMTP credential was used from: different addresses per interval. */
export const countAddresses = (
  db: Pick<Db, 'many'>,
  reach: Reach,
  { credentialId, window }: { credentialId: string; window: Window },
): Promise<{ start: Date; count: number }[]> =>
  db.many(sql`
    select ${binOf(sql`minute`, window)} as start, count(distinct address) as count from credential_addresses
    where credential_id = ${credentialId} and ${within(reach)} and minute >= ${window.from} and minute < ${window.to}
    group by 1`)

interface Owned {
  id: string
  tenant_id: string | null
}

export const findTenantScope = (db: Db, reach: Reach, id: string): Promise<Owned | null> =>
  db.maybe<Owned>(
    sql`select id, id as tenant_id from tenants where id = ${id} and ${within(reach, { tenant: sql`id` })}`,
  )

export const findCredentialScope = (db: Db, reach: Reach, id: string): Promise<Owned | null> =>
  db.maybe<Owned>(sql`select id, tenant_id from smtp_credentials where id = ${id} and ${within(reach)}`)

/** A revoked key still has a past. */
export const findApiKeyScope = (db: Db, reach: Reach, id: string): Promise<Owned | null> =>
  db.maybe<Owned>(sql`select id, tenant_id from api_keys where id = ${id} and ${within(reach)}`)

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

export type ScopeSum = Counters & {
  scope_type: 'account' | 'tenant' | 'domain'
  scope_value: string
  tenant_id: string
}

export const listSums = (
  db: Pick<Db, 'many'>,
  reach: Reach,
  { types, span }: { types: readonly ScopeSum['scope_type'][]; span: Span },
): Promise<ScopeSum[]> => {
  const wanted = all([sql`${within(reach)} and scope_type = any(${types})`, ownTenantOnly(reach, types)])
  return db.many<ScopeSum>(sql`
    select scope_type, scope_value, tenant_id, ${sums} from (
      select scope_type, scope_value, tenant_id, recipients, delivered, hard_bounces, soft_bounces, blocks, deferrals,
        complaints, auth_failures
      from metric_hours where ${wanted} and start >= ${span.hoursFrom}
      union all
      select scope_type, scope_value, tenant_id, ${span.sign} * recipients, ${span.sign} * delivered,
        ${span.sign} * hard_bounces, ${span.sign} * soft_bounces, ${span.sign} * blocks, ${span.sign} * deferrals,
        ${span.sign} * complaints, ${span.sign} * auth_failures
      from metric_minutes where ${wanted} and start >= ${span.minutesFrom} and start < ${span.minutesTo}
    ) counted
    group by 1, 2, 3`)
}

/** Says a tenant's own rows by their key as well, so that the others' are not walked past. */
const ownTenantOnly = ({ tenantId }: Reach, types: readonly string[]): Sql | null =>
  tenantId !== null && types.every(type => type === 'tenant') ? sql`scope_value = ${tenantId}` : null
