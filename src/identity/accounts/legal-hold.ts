// Legal hold: while it is on, nothing of the account is deleted for good.
import type { Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { refuse } from '../../platform/refusal.ts'

/** A hold that has answered stops what follows; one that comes during a deletion waits for its end. */
export async function lockUnlessOnHold(tx: Tx, accountId: string): Promise<boolean> {
  const account = await tx.maybe(sql`select from accounts where id = ${accountId} and not legal_hold for share`)
  return account !== null
}

/** To be asked before any inbox is locked. */
export async function requireNoLegalHold(tx: Tx, accountId: string): Promise<void> {
  if (await lockUnlessOnHold(tx, accountId)) return
  throw refuse('conflict', 'The account is under legal hold: nothing is deleted for good until it is lifted.')
}
