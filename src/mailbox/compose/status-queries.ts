// What the tail of deliveries reads.
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared } from '../../platform/db/sql.ts'
import type { DeliveryCounts } from './status.ts'

export interface DeliveryEvent {
  type: string
  message_id: string
  recipient: string | null
  data: Record<string, unknown>
  inbox_message_id: string
  inbox_id: string
  account_id: string
  tenant_id: string
  thread_id: string
  approval_id: string | null
  status: string
}

/** Events of these ids that are about mail of an inbox, in their order. */
export const listDeliveryEventsAnywhere = (
  tx: Tx,
  { after, upTo, types }: { after: number; upTo: number; types: readonly string[] },
): Promise<DeliveryEvent[]> =>
  tx.many<DeliveryEvent>(prepared`
    select e.type, e.message_id, e.recipient, e.data, m.id as inbox_message_id, m.inbox_id, m.account_id, m.tenant_id,
      m.thread_id, m.approval_id, m.status
    from events e join inbox_messages m on m.message_id = e.message_id
    where e.id > ${after} and e.id <= ${upTo} and e.inbox_id is null and e.type = any(${types}::text[])
    order by e.id`)

/** How the deliveries of each submission stand. */
export const countDeliveriesAnywhere = async (
  db: Db,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, DeliveryCounts>> => {
  const rows = await db.many<{ message_id: string; status: string; count: number }>(prepared`
    select message_id, status, count(*)::int as count from deliveries
    where message_id = any(${bareArray(messageIds)}::uuid[]) group by message_id, status
    union all
    select message_id, 'held', count(*)::int from queue
    where message_id = any(${bareArray(messageIds)}::uuid[]) and status = 'held' group by message_id`)
  const counts = new Map<string, Record<string, number>>()
  for (const { message_id, status, count } of rows) {
    const own = counts.get(message_id) ?? {}
    own[status] = count
    counts.set(message_id, own)
  }
  return counts
}
