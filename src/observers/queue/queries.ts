// Counting the queue. It holds only what is not decided, so this does not grow with history.
import type { Reads } from '../../platform/db/database.ts'
import { sql, type Sql } from '../../platform/db/sql.ts'
import { within, type Reach } from '../../platform/principal.ts'

export interface StatusCount {
  status: 'queued' | 'held' | 'sending' | 'deferred'
  count: number
  oldest_due_at: Date | null
}

export const countQueue = (db: Reads, reach: Reach, now: Date): Promise<StatusCount[]> =>
  countWhere(db, within(reach), now)

export const countQueueAnywhere = (db: Reads, now: Date): Promise<StatusCount[]> => countWhere(db, sql`true`, now)

const countWhere = (db: Reads, condition: Sql, now: Date): Promise<StatusCount[]> =>
  db.many<StatusCount>(sql`
    select status, count(*) as count, min(
      case status when 'queued' then accepted_at when 'deferred' then case when due_at <= ${now} then due_at end end
    ) as oldest_due_at
    from queue where ${condition} group by status`)
