// Deletes old events. Oldest first and in bounded batches: the oldest of an account are looked at, never its
// history. How far the events of an inbox are gone is kept: its streams tell clients that resume from before.
import type { Tx } from '../db/database.ts'
import { sql } from '../db/sql.ts'

export const deleteOldEvents = (
  tx: Tx,
  { accountId, before, limit }: { accountId: string; before: Date; limit: number },
): Promise<number> =>
  tx.value<number>(sql`
    with gone as (
      delete from events where account_id = ${accountId} and id in (
        select id from (
          (select id, created_at from events where account_id = ${accountId} and inbox_id is null
            order by id limit ${limit})
          union all
          (select id, created_at from events where account_id = ${accountId} and inbox_id is not null
            order by id limit ${limit})
        ) oldest
        where created_at < ${before})
      returning id, inbox_id
    ), floors as (
      insert into event_floors (inbox_id, id)
      select inbox_id, max(id) from gone where inbox_id is not null group by inbox_id
      on conflict (inbox_id) do update set id = greatest(event_floors.id, excluded.id)
    )
    select count(*)::int from gone`)

export const deleteFloors = (tx: Tx, inboxIds: readonly string[]): Promise<number> =>
  tx.run(sql`delete from event_floors where inbox_id = any(${inboxIds}::uuid[])`)
