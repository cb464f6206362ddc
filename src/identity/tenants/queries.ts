// All SQL over tenants; the only writer of that table.
import { Batcher } from '../../platform/batcher.ts'
import type { Database, Db, Reads, Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import { withTimesAsText, type RowOf } from '../../platform/db/times.ts'
import { type Keyset, newestFirst } from '../../platform/http/paging.ts'
import { within, type Named, type Reach } from '../../platform/principal.ts'
import { missing } from '../../platform/refusal.ts'
import type { Tenant } from './contract.ts'

type Row = RowOf<Tenant, 'created_at'>

const columns = sql`tenants.id, tenants.external_id, tenants.name, tenants.status, tenants.quota_daily,
  tenants.quota_monthly, tenants.rate_per_minute, tenants.rate_per_hour, tenants.max_recipients_per_message,
  tenants.created_at, least(tenants.rate_per_minute, (select h.rate_per_minute from tenant_throttles h
    where h.tenant_id = tenants.id)) as effective_rate_per_minute`

/** A tenant is its own tenant: the reach's tenant is compared with the row's id. */
const reachable = (reach: Reach) => within(reach, { tenant: sql`id` })

/** Null when the external id is taken. */
export async function insertTenant(tx: Tx, accountId: string, tenant: Omit<Tenant, 'effective_rate_per_minute'>) {
  const row = await tx.maybe<Row>(sql`
    insert into tenants (id, account_id, external_id, name, status, quota_daily, quota_monthly, rate_per_minute,
      rate_per_hour, max_recipients_per_message, created_at)
    values (${tenant.id}, ${accountId}, ${tenant.external_id}, ${tenant.name}, ${tenant.status}, ${tenant.quota_daily},
      ${tenant.quota_monthly}, ${tenant.rate_per_minute}, ${tenant.rate_per_hour},
      ${tenant.max_recipients_per_message}, ${tenant.created_at})
    on conflict on constraint tenants_external_id do nothing
    returning ${columns}`)
  return row && withTimesAsText(row)
}

export async function updateTenantRow(tx: Tx, tenant: Tenant): Promise<Tenant> {
  const row = await tx.one<Row>(sql`
    update tenants set name = ${tenant.name}, status = ${tenant.status}, quota_daily = ${tenant.quota_daily},
      quota_monthly = ${tenant.quota_monthly}, rate_per_minute = ${tenant.rate_per_minute},
      rate_per_hour = ${tenant.rate_per_hour}, max_recipients_per_message = ${tenant.max_recipients_per_message}
    where id = ${tenant.id}
    returning ${columns}`)
  return withTimesAsText(row)
}

export async function requireTenant(db: Db, reach: Reach, id: string): Promise<Tenant> {
  const row = await db.maybe<Row>(prepared`select ${columns} from tenants where id = ${id} and ${reachable(reach)}`)
  return withTimesAsText(row ?? missing('tenant'))
}

/** Finds and locks: no other transaction changes the tenant until this one ends. */
export async function requireTenantForUpdate(tx: Tx, reach: Reach, id: string): Promise<Tenant> {
  const row = await tx.maybe<Row>(sql`
    select ${columns} from tenants where id = ${id} and ${reachable(reach)} for update`)
  return withTimesAsText(row ?? missing('tenant'))
}

export async function listTenants(
  db: Reads,
  reach: Reach,
  { externalId, ...page }: Keyset<string> & { externalId: string | null },
): Promise<Tenant[]> {
  const rows = await db.many<Row>(sql`
    select ${columns} from tenants
    ${newestFirst([reachable(reach), externalId !== null && sql`external_id = ${externalId}`], page)}`)
  return rows.map(withTimesAsText)
}

/** Concurrent readers of single tenants share one statement; each row is still restricted to its own caller's reach. */
export const tenantReader = (db: Database): Batcher<Named, Tenant | null> =>
  new Batcher({ run: asked => findTenants(db, asked), itemsMax: 500, slots: 2 })

async function findTenants(db: Db, asked: Named[]): Promise<(Tenant | null)[]> {
  const rows = await db.many<Row & { n: number }>(prepared`
    select asked.n, ${columns}
    from unnest(${asked.map(each => each.id)}::uuid[], ${asked.map(each => each.reach.accountId)}::uuid[],
      ${asked.map(each => each.reach.tenantId)}::uuid[]) with ordinality as asked (id, account_id, tenant_id, n)
    join tenants on tenants.id = asked.id and tenants.account_id = asked.account_id
      and (asked.tenant_id is null or tenants.id = asked.tenant_id)`)
  const found: (Tenant | null)[] = asked.map(() => null)
  for (const { n, ...row } of rows) found[n - 1] = withTimesAsText(row)
  return found
}
