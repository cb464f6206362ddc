// Putting accepted recipients on record and into the queue, inside the transaction that accepts the message: many rows, one
// statement per table.
import type { Tx } from '../../platform/db/database.ts'
import { prepared } from '../../platform/db/sql.ts'
import type { Key } from './keys.ts'

export function enqueue(tx: Tx, deliveries: readonly DeliveryRow[], queue: readonly QueueRow[]): void {
  insertDeliveries(tx, deliveries)
  if (queue.length > 0) insertQueue(tx, queue)
}

export interface DeliveryRow extends Key {
  recipient: string
  kind: string
  status: 'open' | 'suppressed'
}

const insertDeliveries = (tx: Tx, rows: readonly DeliveryRow[]): void =>
  tx.send(prepared`
    insert into deliveries (message_id, n, account_id, tenant_id, recipient, kind, status, updated_at)
    select message_id, n, account_id, tenant_id, recipient, kind, status, ${tx.now}
    from json_to_recordset(${JSON.stringify(rows)}::json) as d (message_id uuid, n integer, account_id uuid,
      tenant_id uuid, recipient text, kind text, status text)`)

export interface QueueRow extends Omit<DeliveryRow, 'kind' | 'status'> {
  recipient_domain: string
  status: 'queued' | 'held'
  rank: Date
  suspension_id: string | null
  /** The inbox through whose provider it leaves. */
  relay_inbox_id?: string
}

const insertQueue = (tx: Tx, rows: readonly QueueRow[]): void =>
  tx.send(prepared`
    insert into queue (message_id, n, account_id, tenant_id, recipient, recipient_domain, status, rank, suspension_id,
      relay_inbox_id, held_at, accepted_at, updated_at)
    select message_id, n, account_id, tenant_id, recipient, recipient_domain, status, rank, suspension_id, relay_inbox_id,
      case status when 'held' then ${tx.now}::timestamptz end, ${tx.now}, ${tx.now}
    from json_to_recordset(${JSON.stringify(rows)}::json) as q (message_id uuid, n integer, account_id uuid,
      tenant_id uuid, recipient text, recipient_domain text, status text, rank timestamptz, suspension_id uuid,
      relay_inbox_id uuid)`)
