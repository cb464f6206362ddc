// Reading what was set aside; delivery writes it.
import type { Reads } from '../../platform/db/database.ts'
import { all, sql } from '../../platform/db/sql.ts'
import { ofTenant, within, type Reach } from '../../platform/principal.ts'
import type { SetAside } from './contract.ts'

type Row = Omit<SetAside, 'reason' | 'set_aside_at'> & { held_at: Date }

export async function listSetAside(
  db: Reads,
  reach: Reach,
  { tenantId, after, limit }: { tenantId: string | null; after: string | null; limit: number },
): Promise<SetAside[]> {
  const rows = await db.many<Row>(sql`
    select set_aside_id as id, message_id, tenant_id, recipient, crashes, attempts, held_at from queue
    where ${all([
      within(reach),
      sql`set_aside_id is not null`,
      ofTenant(tenantId),
      after !== null && sql`set_aside_id < ${after}`,
    ])}
    order by set_aside_id desc limit ${limit}`)
  return rows.map(({ held_at, ...row }) => ({ ...row, reason: 'crashes', set_aside_at: held_at.toISOString() }))
}
