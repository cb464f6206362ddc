// What the pause check reads of accounts beside their pauses.
import type { Db } from '../../platform/db/database.ts'
import { prepared } from '../../platform/db/sql.ts'

/** Of these accounts, those whose mail must not leave in clear text. */
export async function listRequiringTls(db: Db, accountIds: readonly string[]): Promise<Set<string>> {
  const rows = await db.many<{ id: string }>(prepared`
    select id from accounts where id = any(${accountIds}::uuid[]) and require_outbound_tls`)
  return new Set(rows.map(row => row.id))
}
