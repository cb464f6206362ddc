// Which messages still have a recipient to be sent to. One that has none never has one again.
import type { Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'

/** Of a row `m` of messages. By account and tenant too, as the queue is found. With an offset it is asked for each row. */
export const isQueued = sql`exists (
  select from queue q where q.account_id = m.account_id and q.tenant_id = m.tenant_id and q.message_id = m.id offset 0)`

export async function queuedAmong(tx: Tx, messageIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await tx.alongIndexes.many<{ id: string }>(prepared`
    select m.id from messages m where m.id = any(${bareArray(messageIds)}::uuid[]) and ${isQueued}`)
  return new Set(rows.map(({ id }) => id))
}
