// How many things of a kind an account may have is counted under this lock: two who create the last one at once would
// otherwise both stay below the limit.
import type { Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'

/** Keeps nobody waiting who only refers to the account, such as an acceptance. */
export const lockAccountForCap = (tx: Tx, accountId: string): Promise<{ webhooks_max: number }> =>
  tx.one(sql`select webhooks_max from accounts where id = ${accountId} for no key update`)
