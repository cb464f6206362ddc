// What the overview shows beside what was counted.
import type { Db, Reads } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { withTimesAsText, type RowOf } from '../../platform/db/times.ts'
import { within, type Reach } from '../../platform/principal.ts'
import { missing } from '../../platform/refusal.ts'
import { SUSPENSIONS_MAX, type AccountRecord, type ActiveSuspension } from './contract.ts'

export async function countUnackedAlerts(db: Reads, reach: Reach): Promise<number> {
  const [row] = await db.many<{ count: number }>(
    sql`select count(*) as count from alerts where ${within(reach)} and acked_at is null`,
  )
  return row!.count
}

/** The newest of them, and how many there are. */
export async function listActiveSuspensions(db: Reads, reach: Reach) {
  const rows = await db.many<RowOf<ActiveSuspension, 'created_at'> & { total: number }>(sql`
    select id, scope_type || ':' || scope_value as scope, tenant_id, only_tenant, reason, queue_action, created_at,
      count(*) over () as total
    from suspensions where ${within(reach)} and status = 'active'
    order by id desc limit ${SUSPENSIONS_MAX}`)
  return {
    suspensions: rows.map(({ total: _, ...row }) => withTimesAsText(row)),
    count: rows[0]?.total ?? 0,
  }
}

export async function requireAccountRecord(db: Db, id: string): Promise<AccountRecord> {
  const row = await db.maybe<RowOf<AccountRecord, 'created_at'>>(sql`
    select id, name, account_status(id) as status, data_region, suspend_mode, hold_ttl_seconds, body_retention_days,
      metadata_retention_days,
      hide_suppression_reason, require_outbound_tls, legal_hold, approval_links,
      sandbox, tier, ai_enabled, ai_monthly_token_cap,
      webhooks_max, created_at
    from accounts where id = ${id}`)
  return withTimesAsText(row ?? missing('account'))
}
