// How the deliveries of one submission stand, for the answer to a repeated request.
import type { Db } from '../../platform/db/database.ts'
import { prepared } from '../../platform/db/sql.ts'

/** Recipients by the status of their deliveries; `open` ones are queued, deferred, in flight or held. */
export async function countDeliveriesAnywhere(db: Db, messageId: string): Promise<Readonly<Record<string, number>>> {
  const rows = await db.many<{ status: string; count: number }>(prepared`
    select status, count(*) as count from deliveries where message_id = ${messageId} group by status
    union all
    select 'held', count(*) from (
      select account_id, tenant_id, message_id from deliveries where message_id = ${messageId} limit 1
    ) d join queue q using (account_id, tenant_id, message_id) where q.status = 'held'`)
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}
