// All SQL over suspensions and what they hold; the only writer of those tables.
import type { Db, Tx } from '../../platform/db/database.ts'
import { all, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import type { Reach } from '../../platform/principal.ts'
import { scopeName } from './scopes.ts'
import type { ScopeType, Suspension } from './contract.ts'

export interface ActiveSuspension {
  id: string
  account_id: string
  tenant_id: string | null
  scope_type: ScopeType
  scope_value: string
  queue_action: 'hold' | 'reject'
}

export const areSuspensionsReadable = async (db: Db): Promise<boolean> => {
  await db.maybe(sql`select from suspensions limit 1`)
  return true
}

/** Under the account's lock, so that two calls cannot both take the last place. */
export const countActive = async (tx: Tx, accountId: string): Promise<number> => {
  const { count } = await tx.one<{ count: number }>(sql`
    select count(*) as count from suspensions where account_id = ${accountId} and status = 'active'`)
  return count
}

export const listActiveOfAccounts = (db: Db, accountIds: readonly string[]): Promise<ActiveSuspension[]> =>
  db.many<ActiveSuspension>(prepared`
    select id, account_id, tenant_id, scope_type, scope_value, queue_action
    from suspensions where status = 'active' and account_id = any(${accountIds}::uuid[])
    order by source = 'operator' desc, id`)

interface Row extends Omit<Suspension, 'scope' | 'created_at' | 'resumed_at'> {
  created_at: Date
  resumed_at: Date | null
}

const columns = sql`id, scope_type, scope_value, tenant_id, reason, queue_action, source, rule_id, evidence, status,
  (select coalesce(sum(held), 0)::bigint from suspension_holds h where h.suspension_id = suspensions.id) as held_count,
  created_by, created_at, resumed_at, resumed_by, resume_note, resume_action`

const toSuspension = (row: Row): Suspension => ({
  ...row,
  scope: scopeName(row),
  created_at: row.created_at.toISOString(),
  resumed_at: row.resumed_at?.toISOString() ?? null,
})

interface NewSuspension {
  id: string
  accountId: string
  tenantId: string | null
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
    await tx.one<Row>(sql`
      insert into suspensions (id, account_id, tenant_id, scope_type, scope_value, reason, queue_action, source, rule_id,
        evidence, created_by, created_at, held_since)
      values (${wanted.id}, ${wanted.accountId}, ${wanted.tenantId}, ${wanted.scopeType}, ${wanted.scopeValue},
        ${wanted.reason}, ${wanted.queueAction}, ${wanted.source}, ${wanted.ruleId},
        ${wanted.evidence && JSON.stringify(wanted.evidence)}::jsonb, ${wanted.createdBy}, ${tx.now}, ${tx.now})
      returning ${columns}`),
  )

interface ScopeOf {
  accountId: string
  scopeType: ScopeType
  scopeValue: string
}

/** The active pause of exactly this scope: the operator's own, or the other. */
export const findActive = async (
  db: Db,
  { accountId, scopeType, scopeValue }: ScopeOf,
  isOperators: boolean,
): Promise<Suspension | null> => {
  const row = await db.maybe<Row>(sql`
    select ${columns} from suspensions
    where account_id = ${accountId} and scope_type = ${scopeType} and scope_value = ${scopeValue}
      and (source = 'operator') = ${isOperators} and status = 'active'`)
  return row && toSuspension(row)
}

/** A tenant's key sees what touches its tenant: its own scopes, and those that span tenants. */
const reachable = ({ accountId, tenantId }: Reach): Sql =>
  all([sql`account_id = ${accountId}`, tenantId !== null && sql`(tenant_id is null or tenant_id = ${tenantId})`])

export const findSuspension = async (db: Db, reach: Reach, id: string): Promise<Suspension | null> => {
  const row = await db.maybe<Row>(sql`select ${columns} from suspensions where id = ${id} and ${reachable(reach)}`)
  return row && toSuspension(row)
}

/** Nobody parks for it, drains it or resumes it until the transaction ends. */
export const lockSuspension = async (
  tx: Tx,
  accountId: string,
  id: string,
): Promise<(Suspension & { affected_deliveries: number | null }) | null> => {
  await tx.many(sql`select from suspensions where id = ${id} and account_id = ${accountId} for update`)
  const row = await tx.maybe<Row & { affected_deliveries: number | null }>(sql`
    select ${columns}, affected_deliveries from suspensions where id = ${id} and account_id = ${accountId}`)
  return row && { ...toSuspension(row), affected_deliveries: row.affected_deliveries }
}

export const listSuspensions = async (
  db: Pick<Db, 'many'>,
  reach: Reach,
  { status, after, limit }: { status: string | null; after: string | null; limit: number },
): Promise<Suspension[]> => {
  const rows = await db.many<Row>(sql`
    select ${columns} from suspensions
    where ${all([reachable(reach), status !== null && sql`status = ${status}`, after !== null && sql`id < ${after}`])}
    order by id desc limit ${limit}`)
  return rows.map(toSuspension)
}

interface Resumption {
  id: string
  action: 'release' | 'purge'
  note: string | null
  resumedBy: string
  /** The pause that keeps all of it. */
  movedTo: string | null
  /** Pauses resumed before whose mail meets the same end. */
  joined: readonly string[]
}

/** Fixes how many are affected: all that it holds at this moment, or none when another one keeps them. */
export const updateResumed = async (
  tx: Tx,
  { id, action, note, resumedBy, movedTo, joined }: Resumption,
): Promise<Suspension & { affected_deliveries: number }> => {
  const row = await tx.one<Row & { affected_deliveries: number }>(sql`
    update suspensions set status = 'resumed', resumed_at = ${tx.now}, resumed_by = ${resumedBy}, resume_note = ${note},
      resume_action = ${action}, moved_to = ${movedTo}, affected_deliveries = case when ${movedTo === null} then
        (select coalesce(sum(held), 0) from suspension_holds h where h.suspension_id = any(${[id, ...joined]}::uuid[]))
        else 0 end
    where id = ${id}
    returning ${columns}, affected_deliveries`)
  return { ...toSuspension(row), affected_deliveries: row.affected_deliveries }
}

/** Pauses resumed before whose mail is on its way to this one. */
export const listMovingTo = async (tx: Tx, id: string): Promise<string[]> => {
  const rows = await tx.many<{ id: string }>(sql`
    select id from suspensions where moved_to = ${id} and drained_at is null order by id`)
  return rows.map(row => row.id)
}

/** They do not go anywhere any more but are let go where they are. */
export const updateOwnEnd = (tx: Tx, ids: readonly string[], action: 'release' | 'purge'): Promise<number> =>
  tx.run(sql`update suspensions set moved_to = null, resume_action = ${action} where id = any(${ids}::uuid[])`)

export const updateMovedTo = (tx: Tx, ids: readonly string[], movedTo: string): Promise<number> =>
  tx.run(sql`update suspensions set moved_to = ${movedTo} where id = any(${ids}::uuid[])`)
