// Reading the journal forward. Ids follow commit order, so "after this id" skips nothing and repeats nothing.
import type { Db } from '../db/database.ts'
import { prepared } from '../db/sql.ts'

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
 * How far the next events go, at most so many ids on; null when there are none. Ids that were never committed count as well,
 * so that nothing has to be counted.
 */
export const findIdAhead = async (
  db: Db,
  { cursor, limit }: { cursor: number; limit: number },
): Promise<number | null> => {
  const { id } = await db.one<{ id: number | null }>(prepared`
    select max(id) as id from (select id from events where id > ${cursor} order by id desc limit 1) newest`)
  return id === null ? null : Math.min(id, cursor + limit)
}
