// The lock between pausing an account's mail and starting to send it. Attempts take it shared, a pause exclusively.
import type { Tx } from '../../platform/db/database.ts'
import { prepared } from '../../platform/db/sql.ts'

/** Any number that no other use of two-part advisory keys has. */
const SPACE = 0x5041

export async function lockAccountsShared(tx: Tx, accountIds: readonly string[]): Promise<void> {
  await tx.many(prepared`
    select pg_advisory_xact_lock_shared(${SPACE}, hashtext(id)) from unnest(${accountIds}::text[]) as id`)
}
