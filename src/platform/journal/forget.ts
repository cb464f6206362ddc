// Letting go of old events. Oldest first and in bounded batches: the oldest of an account are looked at, never its
// history.
import type { Tx } from '../db/database.ts'
import { sql } from '../db/sql.ts'

export const deleteOldEvents = (
  tx: Tx,
  { accountId, before, limit }: { accountId: string; before: Date; limit: number },
): Promise<number> =>
  tx.run(sql`
    delete from events where account_id = ${accountId} and id in (
      select id from (
        (select id, created_at from events where account_id = ${accountId} and inbox_id is null order by id limit ${limit})
        union all
        (select id, created_at from events where account_id = ${accountId} and inbox_id is not null
          order by id limit ${limit})
      ) oldest
      where created_at < ${before})`)
