// Reading the journal forward. Ids follow commit order up to the first that a transaction under way has reserved, so "after
// this id" skips nothing and repeats nothing as far as `findIdAhead` says.
import type { Db } from '../db/database.ts'
import { RESERVED_EVENTS } from '../db/locks.ts'
import { prepared, sql } from '../db/sql.ts'

export interface JournalEvent {
  id: number
  type: string
  account_id: string
  tenant_id: string | null
  message_id: string | null
  recipient: string | null
  /** Set on events of an inbox, which are no part of the account's log. */
  inbox_id: string | null
  created_at: Date
  data: Record<string, unknown>
}

/**
 * The first id of those that are reserved. Evaluated behind the snapshot of the statement that it stands in: what is no
 * longer reserved by then has been committed, and every later statement sees it.
 */
const firstReserved = sql`(
  select min((classid::bigint << 32 | objid::bigint) & 281474976710655) from pg_locks
  where locktype = 'advisory' and objsubid = 1 and classid::bigint >> 16 = ${RESERVED_EVENTS}
    and database = (select oid from pg_database where datname = current_database()))`

/**
 * How far the next events go, at most so many ids on; null when there are none. Ids that were never committed count as well,
 * so that nothing has to be counted.
 */
export const findIdAhead = async (db: Db, { cursor, limit }: { cursor: number; limit: number }) => {
  const { newest, reserved } = await db.one<{ newest: number | null; reserved: number | null }>(prepared`
    with newest as materialized (select id from events where id > ${cursor} order by id desc limit 1)
    select max(id) as newest, case when max(id) is not null then ${firstReserved} end as reserved from newest`)
  if (newest === null) return null
  const id = Math.min(newest, cursor + limit, reserved === null ? Infinity : reserved - 1)
  return id > cursor ? id : null
}

/**
 * The newest event that is committed; 0 when there is none. As far as readers of events of inboxes go, whose ids are never
 * reserved: all of those below it are committed.
 */
export const findNewest = async (db: Db): Promise<number> =>
  (await db.maybeValue<number>(prepared`select id from events order by id desc limit 1`)) ?? 0
