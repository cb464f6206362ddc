// What the reports need to know of the deliveries they are about.
import type { Db } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'

/** Whom one delivery went to. Its token is the proof of reach: only we could have written it. */
export const findRecipient = async (
  db: Db,
  { messageId, n }: { messageId: string; n: number },
): Promise<string | null> => {
  const row = await db.maybe<{ recipient: string }>(sql`
    select recipient from deliveries where message_id = ${messageId} and n = ${n}`)
  return row?.recipient ?? null
}
