// The SQL of the hourly counts of inboxes.
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'

export const listSendCounts = (
  db: Db,
  inboxIds: readonly string[],
  hour: Date,
): Promise<{ inbox_id: string; count: number }[]> =>
  db.many(prepared`
    select inbox_id, count from inbox_send_counts
    where inbox_id = any(${bareArray(inboxIds)}::uuid[]) and hour = ${hour}`)

export const addToSendCounts = (tx: Tx, counts: readonly { inboxId: string; count: number }[], hour: Date): void =>
  tx.send(prepared`
    insert into inbox_send_counts as c (inbox_id, hour, count)
    select inbox_id, ${hour}::timestamptz, count from unnest(${bareArray(counts.map(each => each.inboxId))}::uuid[],
      ${bareArray(counts.map(each => each.count))}::int[]) as added (inbox_id, count)
    on conflict (inbox_id, hour) do update set count = c.count + excluded.count`)

export const deleteOldSendCounts = (tx: Tx, before: Date, limit: number): Promise<number> =>
  tx.run(sql`
    delete from inbox_send_counts where (inbox_id, hour) in (
      select inbox_id, hour from inbox_send_counts where hour < ${before} limit ${limit})`)
