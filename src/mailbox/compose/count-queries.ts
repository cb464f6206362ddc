// The SQL of the hourly counts of inboxes, and of how the deliveries of one submission stand.
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'

export const listSendCounts = (db: Db, inboxIds: readonly string[], hour: Date) =>
  db.many<{ inbox_id: string; count: number }>(prepared`
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

/** Recipients by the status of their deliveries; `open` ones are queued, deferred, in flight or held. */
export async function countDeliveriesAnywhere(db: Db, messageId: string): Promise<Readonly<Record<string, number>>> {
  // Planned each time: a plan from when the queue was empty would read all of it.
  const rows = await db.many<{ status: string; count: number }>(sql`
    select status, count(*) as count from deliveries where message_id = ${messageId} group by status
    union all
    select 'held', count(*) from (
      select account_id, tenant_id, message_id from deliveries where message_id = ${messageId} limit 1
    ) d join queue q using (account_id, tenant_id, message_id) where q.status = 'held'`)
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}
