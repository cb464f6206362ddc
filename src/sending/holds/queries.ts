// What the pause check reads of accounts beside their pauses.
import type { Db } from '../../platform/db/database.ts'
import { isAmong, prepared, sql } from '../../platform/db/sql.ts'

/** Of these accounts, those whose mail must not leave in clear text. */
export async function listRequiringTls(db: Db, accountIds: readonly string[]): Promise<Set<string>> {
  const rows = await db.many<{ id: string }>(prepared`
    select id from accounts where ${isAmong(sql`id`, accountIds)} and require_outbound_tls`)
  return new Set(rows.map(row => row.id))
}
