// All SQL over suspensions and what they hold; the only writer of those tables.
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { all, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import { withTimesAsText, type RowOf } from '../../platform/db/times.ts'
import { type Keyset, newestFirst } from '../../platform/http/paging.ts'
import type { Reach } from '../../platform/principal.ts'
import { scopeName, type PauseScope } from './scopes.ts'
import type { ScopeType, Suspension } from './contract.ts'

export interface ActiveSuspension extends PauseScope {
  account_id: string
  scope_type: ScopeType
}

/** Under the account's lock, so that two calls cannot both become the last one allowed. */
export const countActive = (tx: Tx, accountId: string): Promise<number> =>
  tx.value<number>(prepared`
    select count(*) from suspensions where account_id = ${accountId} and status = 'active'`)

export const listActiveOfAccounts = (db: Db, accountIds: readonly string[]): Promise<ActiveSuspension[]> =>
  db.many<ActiveSuspension>(prepared`
    select id, account_id, tenant_id, only_tenant, scope_type, scope_value, queue_action
    from suspensions where status = 'active' and account_id = any(${accountIds}::uuid[])
    order by source = 'operator' desc, id`)

type Row = RowOf<Omit<Suspension, 'scope'>, 'created_at' | 'resumed_at'>

const columns = sql`id, scope_type, scope_value, tenant_id, only_tenant, reason, queue_action, source, rule_id, evidence,
  status,
  (select coalesce(sum(held), 0)::bigint from suspension_holds h where h.suspension_id = suspensions.id) as held_count,
  created_by, created_at, resumed_at, resumed_by, resume_note, resume_action`

const toSuspension = (row: Row): Suspension => ({ ...withTimesAsText(row), scope: scopeName(row) })

export interface NewSuspension {
  id: string
  accountId: string
  tenantId: string | null
  /** Of the scope, only the mail of that tenant. */
  onlyTenant: boolean
  scopeType: ScopeType
  scopeValue: string
  reason: string | null
  queueAction: 'hold' | 'reject'
  source: 'api' | 'guardian' | 'operator'
  ruleId: string | null
  evidence: object | null
  createdBy: string
}

export const insertSuspension = async (tx: Tx, wanted: NewSuspension): Promise<Suspension> =>
  toSuspension(
    await tx.one<Row>(prepared`
      insert into suspensions (id, account_id, tenant_id, only_tenant, scope_type, scope_value, reason, queue_action,
        source, rule_id, evidence, created_by, created_at, held_since)
      values (${wanted.id}, ${wanted.accountId}, ${wanted.tenantId}, ${wanted.onlyTenant}, ${wanted.scopeType},
        ${wanted.scopeValue}, ${wanted.reason}, ${wanted.queueAction}, ${wanted.source}, ${wanted.ruleId},
        ${wanted.evidence && JSON.stringify(wanted.evidence)}::jsonb, ${wanted.createdBy}, ${tx.now}, ${tx.now})
      returning ${columns}`),
  )

/** The active pause that stops all that is wanted, of the same scope: the operator's own, or the other. */
export const findActive = async (
  db: Db,
  {
    accountId,
    tenantId,
    scopeType,
    scopeValue,
    onlyTenant = false,
  }: Pick<NewSuspension, 'accountId' | 'tenantId' | 'scopeType' | 'scopeValue'> & { onlyTenant?: boolean | undefined },
  isOperators: boolean,
): Promise<Suspension | null> => {
  const row = await db.maybe<Row>(prepared`
    select ${columns} from suspensions
    where account_id = ${accountId} and scope_type = ${scopeType} and scope_value = ${scopeValue}
      and (source = 'operator') = ${isOperators} and status = 'active'
      and (not only_tenant or (${onlyTenant} and tenant_id = ${tenantId}))
    order by only_tenant limit 1`)
  return row && toSuspension(row)
}

const isOfDomain = sql`(scope_type in ('domain', 'sender') and not only_tenant)`
const domainsOfScope = sql`
  select from domains d where d.account_id = suspensions.account_id
    and d.name = regexp_replace(suspensions.scope_value, '^.*@', '')`

/**
 * A tenant's key sees what touches its tenant: its own scopes, and those that span tenants, as far as it is one of them. A
 * name may be registered by another tenant after it was paused.
 */
const reachable = ({ accountId, tenantId }: Reach): Sql =>
  all([
    sql`account_id = ${accountId}`,
    tenantId !== null &&
      sql`(tenant_id = ${tenantId}
        or case when ${isOfDomain} then exists (${domainsOfScope} and d.tenant_id = ${tenantId}) else tenant_id is null end)`,
  ])

/** Whether all that it holds is the caller's. */
const isOwn = ({ tenantId }: Reach): Sql =>
  tenantId === null
    ? sql`true`
    : sql`(coalesce(tenant_id = ${tenantId}, false)
        and not (${isOfDomain} and exists (${domainsOfScope} and d.tenant_id <> ${tenantId})))`

type Seen = Suspension & { is_own: boolean }

export const findSuspension = async (db: Db, reach: Reach, id: string): Promise<Seen | null> => {
  const row = await db.maybe<Row & { is_own: boolean }>(prepared`
    select ${columns}, ${isOwn(reach)} as is_own from suspensions where id = ${id} and ${reachable(reach)}`)
  return row && { ...toSuspension(row), is_own: row.is_own }
}

export const listSuspensions = async (
  db: Reads,
  reach: Reach,
  { status, ...page }: Keyset<string> & { status: string | null },
): Promise<Seen[]> => {
  const rows = await db.many<Row & { is_own: boolean }>(sql`
    select ${columns}, ${isOwn(reach)} as is_own from suspensions
    ${newestFirst([reachable(reach), status !== null && sql`status = ${status}`], page)}`)
  return rows.map(row => ({ ...toSuspension(row), is_own: row.is_own }))
}

interface Resumption {
  id: string
  action: 'release' | 'purge'
  note: string | null
  resumedBy: string
  /** The pauses that keep what they match of it. */
  keptBy: readonly string[]
  affected: number
}

/** What the others keep has been held since earlier than they know: the worker that expires held mail has to look there. */
export const updateResumed = async (tx: Tx, { id, action, note, resumedBy, keptBy, affected }: Resumption) => {
  if (keptBy.length > 0) {
    await tx.run(sql`
      update suspensions s set held_since = least(s.held_since, earlier.held_since)
      from suspensions earlier where s.id = any(${keptBy}::uuid[]) and earlier.id = ${id}`)
  }
  const row = await tx.one<Row & { affected_deliveries: number }>(prepared`
    update suspensions set status = 'resumed', resumed_at = ${tx.now}, resumed_by = ${resumedBy}, resume_note = ${note},
      resume_action = ${action}, kept_by = ${keptBy}::uuid[], affected_deliveries = ${affected}
    where id = ${id}
    returning ${columns}, affected_deliveries`)
  return { ...toSuspension(row), affected_deliveries: row.affected_deliveries }
}

/** How much they hold; and a fingerprint that is another one after every change. */
export const sumHeld = (tx: Tx, ids: readonly string[]): Promise<{ held: number; fingerprint: string }> =>
  tx.one<{ held: number; fingerprint: string }>(prepared`
    select coalesce(sum(held), 0)::bigint as held, coalesce(sum(hashtext(ctid::text || xmin::text)), 0)::text as fingerprint
    from suspension_holds where suspension_id = any(${ids}::uuid[])`)

/** Pauses resumed before that still hold mail which this one may keep. */
export const listMovingTo = (tx: Tx, { id, account_id: accountId }: ActiveSuspension) =>
  tx.many<ActiveSuspension & { kept_by: string[] }>(prepared`
    select id, account_id, tenant_id, only_tenant, scope_type, scope_value, queue_action, kept_by from suspensions s
    where status = 'resumed' and drained_at is null and account_id = ${accountId} and ${id} = any(kept_by)
      and (select sum(held) from suspension_holds h where h.suspension_id = s.id) > 0
    order by id`)

/** All that they still hold was this pause's, and ends as its own mail does. */
export const updateJoined = (
  tx: Tx,
  { ids, action, keptBy }: { ids: readonly string[]; action: 'release' | 'purge'; keptBy: readonly string[] },
): Promise<number> =>
  tx.run(sql`
    update suspensions set resume_action = ${action}, kept_by = ${keptBy}::uuid[] where id = any(${ids}::uuid[])`)
