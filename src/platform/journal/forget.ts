// Deletes old events that every reader is done with. Oldest first and in bounded batches: the oldest of an account are looked
// at, never its history. How far the events of an inbox are gone is kept: its streams tell clients that resume from before.
import type { Tx } from '../db/database.ts'
import { sql } from '../db/sql.ts'

/** How far the readers of the journal are with an account's events. Asked before: readers only go forward. */
export interface EventUse {
  /** Every tail has read the events up to this one. No later one is ever deleted: nobody would know of it. */
  readUpTo: number
  /** A push of this event is not decided; null where all are. */
  undecidedFrom: number | null
}

/** Longer than this past their time, events wait for no push: an endpoint may be too slow for ever. */
const UNDECIDED_MS_MAX = 30 * 86_400_000

export const deleteOldEvents = (
  tx: Tx,
  { accountId, before, use, limit }: { accountId: string; before: Date; use: EventUse; limit: number },
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
        where created_at < ${before} and id <= ${use.readUpTo}
          and (id < ${use.undecidedFrom ?? use.readUpTo + 1}
            or created_at < ${new Date(before.getTime() - UNDECIDED_MS_MAX)}))
      returning id, inbox_id
    ), floors as (
      insert into event_floors (inbox_id, id)
      select inbox_id, max(id) from gone where inbox_id is not null group by inbox_id
      on conflict (inbox_id) do update set id = greatest(event_floors.id, excluded.id)
    )
    select count(*)::int from gone`)

export const deleteFloors = (tx: Tx, inboxIds: readonly string[]): Promise<number> =>
  tx.run(sql`delete from event_floors where inbox_id = any(${inboxIds}::uuid[])`)
