// All SQL over plan assignments; the only writer of that table.
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { all, sql } from '../../platform/db/sql.ts'
import { withTimesAsText, type RowOf } from '../../platform/db/times.ts'
import { newestFirst, type TenantKeyset } from '../../platform/http/paging.ts'
import { ofTenant, within, type Reach } from '../../platform/principal.ts'
import type { Assignment } from './contract.ts'

type Row = RowOf<Assignment, 'created_at'>

const columns = sql`id, tenant_id, plan_id, effective_from, source, created_at`

export async function insertAssignment(tx: Tx, accountId: string, assignment: Omit<Assignment, 'created_at'>) {
  const { id, tenant_id, plan_id, effective_from, source } = assignment
  const row = await tx.one<Row>(sql`
    insert into plan_assignments (id, account_id, tenant_id, plan_id, effective_from, source, created_at)
    values (${id}, ${accountId}, ${tenant_id}, ${plan_id}, ${effective_from}, ${source}, ${tx.now})
    returning ${columns}`)
  return withTimesAsText(row)
}

const ofScope = ({ accountId, tenantId }: Pick<Reach, 'accountId' | 'tenantId'>) => sql`account_id = ${accountId}
  and ${tenantId === null ? sql`tenant_id is null` : sql`tenant_id = ${tenantId}`}`

export const countAssignments = (tx: Tx, scope: Pick<Reach, 'accountId' | 'tenantId'>): Promise<number> =>
  tx.value<number>(sql`select count(*) from plan_assignments where ${ofScope(scope)}`)

export async function listAssignments(db: Reads, reach: Reach, { tenantId, ...page }: TenantKeyset) {
  const rows = await db.many<Row>(sql`
    select ${columns} from plan_assignments ${newestFirst([within(reach), ofTenant(tenantId)], page)}`)
  return rows.map(withTimesAsText)
}

/** What payments assigned last; null when they ended it, or never assigned anything. */
export const findPaidPlanId = (db: Db, accountId: string): Promise<string | null> =>
  db.maybeValue<string>(sql`
    select plan_id from plan_assignments
    where account_id = ${accountId} and tenant_id is null and source = 'payment'
    order by id desc limit 1`)

interface Effective {
  account_id: string
  plan_id: string | null
}

/** Of each account its own plan on that day; accounts that never had one are left out. */
export const listAccountPlans = (db: Reads, accountIds: readonly string[], day: string): Promise<Effective[]> =>
  db.many<Effective>(sql`
    select asked.account_id, newest.plan_id
    from unnest(${accountIds}::uuid[]) as asked (account_id)
    cross join lateral (
      select plan_id from plan_assignments a
      where a.account_id = asked.account_id and tenant_id is null and effective_from <= ${day}::date
      order by effective_from desc, id desc limit 1
    ) newest`)

/** Rate cards on that day, in the order of the tenants' ids: part of a statement that prices them. */
export const rateCards = (
  reach: Reach,
  { day, after, limit }: { day: string; after: string | null; limit: number },
) => sql`
  select distinct on (tenant_id) tenant_id, plan_id from plan_assignments
  where ${all([within(reach), after !== null && sql`tenant_id > ${after}`])}
    and tenant_id is not null and effective_from <= ${day}::date
  order by tenant_id, effective_from desc, id desc limit ${limit}`
