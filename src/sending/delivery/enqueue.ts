// Putting accepted recipients on record and into the queue, inside the transaction that accepts the message.
import type { Tx } from '../../platform/db/database.ts'
import { insertDeliveries, insertQueue, type DeliveryRow, type QueueRow } from './insert-queries.ts'

export type { DeliveryRow, QueueRow } from './insert-queries.ts'

export function enqueue(tx: Tx, deliveries: readonly DeliveryRow[], queue: readonly QueueRow[]): void {
  insertDeliveries(tx, deliveries)
  if (queue.length > 0) insertQueue(tx, queue)
}
