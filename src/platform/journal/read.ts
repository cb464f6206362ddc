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
  created_at: Date
  data: Record<string, unknown>
}

export const listEventsAfter = (
  db: Db,
  { cursor, limit }: { cursor: number; limit: number },
): Promise<JournalEvent[]> =>
  db.many<JournalEvent>(prepared`
    select id, type, account_id, tenant_id, message_id, recipient, created_at, data
    from events where id > ${cursor} order by id limit ${limit}`)
