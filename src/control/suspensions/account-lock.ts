// The lock between pausing an account's mail and starting to send it. Attempts take it shared, a pause exclusively.
import type { Tx } from '../../platform/db/database.ts'
import { prepared } from '../../platform/db/sql.ts'

/** Any number that no other use of two-part advisory keys has. */
const SPACE = 0x5041

export async function lockAccountsShared(tx: Tx, accountIds: readonly string[]): Promise<void> {
  await tx.many(prepared`
    select pg_advisory_xact_lock_shared(${SPACE}, hashtext(id)) from unnest(${accountIds}::text[]) as id`)
}

/** Once this is granted, every attempt and every acceptance that did not see what we are about to write is over. */
export async function lockAccountExclusively(tx: Tx, accountId: string): Promise<void> {
  await tx.many(prepared`select pg_advisory_xact_lock(${SPACE}, hashtext(${accountId}))`)
}

/** Resumes of one account take turns: two that move mail into each other would never end. */
export async function lockResumes(tx: Tx, accountId: string): Promise<void> {
  await tx.many(prepared`select pg_advisory_xact_lock(${SPACE + 1}, hashtext(${accountId}))`)
}
