// All SQL over suppressions; the only writer of that table.
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { all, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import { withTimesAsText, type RowOf } from '../../platform/db/times.ts'
import { ofTenant, within, type Reach } from '../../platform/principal.ts'
import type { SuppressionEntry } from './contract.ts'
import type { Suppression } from './suppress.ts'
import type { Addressed } from './suppressed.ts'

/** Nobody runs two mailboxes that differ by case. Always made small here: the database has other rules for some letters. */
export const listedAddress = (address: string): string => address.toLowerCase()

export const listSuppressed = (db: Db, addressed: readonly Addressed[]) =>
  db.many<{ tenant_id: string; address: string }>(prepared`
    select distinct a.tenant_id, a.address
    from unnest(${addressed.map(each => each.accountId)}::uuid[], ${addressed.map(each => each.tenantId)}::uuid[],
      ${addressed.map(each => each.address)}::text[], ${addressed.map(each => listedAddress(each.address))}::text[])
      as a (account_id, tenant_id, address, listed)
    join suppressions s on s.account_id = a.account_id and s.address = a.listed
      and (s.tenant_id is null or s.tenant_id = a.tenant_id)`)

/** What its owner has said of an address weighs more than what was found out about it. */
const weightOf = (reason: Sql): Sql =>
  sql`(case ${reason} when 'complaint' then 2 when 'unsubscribe' then 1 else 0 end)`

export const insertSuppressions = (tx: Tx, rows: readonly (Suppression & { id: string })[]): Promise<number> =>
  tx.run(prepared`
    insert into suppressions (id, account_id, tenant_id, address, reason, detail, message_id, created_at)
    select distinct on ("accountId", "tenantId", address) id, "accountId", "tenantId", address, reason, detail, "messageId",
      ${tx.now}
    from json_to_recordset(${JSON.stringify(rows)}::json) as s (id uuid, "accountId" uuid, "tenantId" uuid, address text,
      reason text, detail text, "messageId" uuid)
    order by "accountId", "tenantId", address, ${weightOf(sql`reason`)} desc
    on conflict on constraint suppressions_address do update
      set reason = excluded.reason, detail = excluded.detail, message_id = excluded.message_id
      where ${weightOf(sql`excluded.reason`)} > ${weightOf(sql`suppressions.reason`)}`)

type Row = RowOf<SuppressionEntry, 'created_at'>

const columns = sql`id, tenant_id, address, reason, detail, created_at`

interface SuppressionFilter {
  tenantId: string | null
  reason: string | null
  part: string | null
  limit: number
  offset: number
}

export async function listEntries(db: Reads, reach: Reach, filter: SuppressionFilter): Promise<SuppressionEntry[]> {
  const rows = await db.many<Row>(sql`
    select ${columns} from suppressions where ${matching(reach, filter)}
    order by id desc limit ${filter.limit} offset ${filter.offset}`)
  return rows.map(withTimesAsText)
}

export async function countEntries(db: Reads, reach: Reach, filter: SuppressionFilter): Promise<number> {
  const rows = await db.many<{ total: number }>(
    sql`select count(*) as total from suppressions where ${matching(reach, filter)}`,
  )
  return rows[0]!.total
}

const matching = (reach: Reach, { tenantId, reason, part }: SuppressionFilter): Sql =>
  all([
    within(reach),
    ofTenant(tenantId),
    reason !== null && sql`reason = ${reason}`,
    part !== null && sql`position(${listedAddress(part)} in address) > 0`,
  ])

export async function findEntry(db: Db, about: { accountId: string; tenantId: string | null; address: string }) {
  const row = await db.maybe<Row>(sql`
    select ${columns} from suppressions
    where account_id = ${about.accountId} and tenant_id is not distinct from ${about.tenantId}::uuid
      and address = ${about.address}`)
  return row && withTimesAsText(row)
}

/** Null when there is none within reach. */
export async function deleteEntry(tx: Tx, reach: Reach, id: string): Promise<SuppressionEntry | null> {
  const row = await tx.maybe<Row>(
    sql`delete from suppressions where id = ${id} and ${within(reach)} returning ${columns}`,
  )
  return row && withTimesAsText(row)
}

export const findHidesReason = (db: Db, accountId: string): Promise<boolean> =>
  db.value<boolean>(sql`select hide_suppression_reason from accounts where id = ${accountId}`)

export const deleteOldBounce = (
  tx: Tx,
  { accountId, tenantId, address, before }: { accountId: string; tenantId: string; address: string; before: Date },
): Promise<number> =>
  tx.run(sql`
    delete from suppressions
    where account_id = ${accountId} and tenant_id = ${tenantId} and address = ${address} and reason = 'hard_bounce'
      and created_at < ${before}`)
