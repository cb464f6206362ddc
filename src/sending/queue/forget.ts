// Deletes the deliveries of messages whose retention is over.
import type { Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'

export const forgetDeliveries = (tx: Tx, messageIds: readonly string[]): Promise<number> =>
  tx.run(sql`delete from deliveries where message_id = any(${messageIds}::uuid[])`)
