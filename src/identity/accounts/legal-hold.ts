// Legal hold: while it is on, nothing of the account is deleted for good.
import type { Tx } from '../../platform/db/database.ts'
import { sql, type Sql } from '../../platform/db/sql.ts'
import { refuse } from '../../platform/refusal.ts'

/** A hold that has answered stops what follows; one that comes during a deletion waits for its end. */
export async function lockUnlessOnHold(tx: Tx, accountId: string): Promise<boolean> {
  const account = await tx.maybe(sql`select from accounts where id = ${accountId} and not legal_hold for share`)
  return account !== null
}

/**
 * The same for statements over many accounts: those of them that are not under hold, locked. A deletion that names what this
 * answers deletes nothing of an account before it has the account's lock.
 */
export const lockedUnlessOnHold = (accountIds: Sql): Sql => sql`
  select id from accounts where id in (${accountIds}) and not legal_hold order by id for share`

/**
 * Of the rows found, which have an `account_id`, those that may be deleted, named by this column. An array is complete, and all
 * locks taken, before the first row is deleted.
 */
export const deletable = (column: Sql, found: Sql): Sql => sql`array(
  with found as materialized (${found}),
    free as materialized (${lockedUnlessOnHold(sql`select account_id from found`)})
  select ${column} from found where account_id in (select id from free))`

/** To be asked before any inbox is locked. */
export async function requireNoLegalHold(tx: Tx, accountId: string): Promise<void> {
  if (await lockUnlessOnHold(tx, accountId)) return
  throw refuse('conflict', 'The account is under legal hold: nothing is deleted for good until it is lifted.')
}
