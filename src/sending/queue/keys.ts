// What a row of the queue is found by, and what of it the paths back to the queue need.
import { isLookedUpBy } from '../../platform/db/planner.ts'
import { sql } from '../../platform/db/sql.ts'

/** Of a row in the queue. It begins as the queue is scanned, so that one index does for both. */
export interface Key {
  account_id: string
  tenant_id: string
  message_id: string
  n: number
}

/** Enough, with its message, to ask whether a pause matches it. */
export interface QueuedRow extends Key {
  recipient: string
  recipient_domain: string
}

/** Whom an event is about. */
export const aboutOf = (row: Key & { recipient: string }) => ({
  accountId: row.account_id,
  tenantId: row.tenant_id,
  messageId: row.message_id,
  recipient: row.recipient,
})

/** Of the queue as `q`. */
export const queuedColumns = sql`q.account_id, q.tenant_id, q.message_id, q.n, q.recipient, q.recipient_domain`

/** What a delivery is found by once it is out of the queue. */
export type DeliveryKey = Pick<Key, 'message_id' | 'n'>

/** For maps and sets. */
export const keyOf = ({ message_id, n }: DeliveryKey): string => `${message_id} ${n}`

/** Rows that several transactions lock are locked in this order. */
export const inOrder = <Row extends DeliveryKey>(rows: readonly Row[]): Row[] =>
  rows.toSorted((a, b) => (a.message_id < b.message_id ? -1 : a.message_id > b.message_id ? 1 : a.n - b.n))

/** Between the queue as `q` and others as `o`, in statements along indexes. */
export const isSameRow = sql`${isLookedUpBy(sql`q.account_id`, sql`o.account_id`)}
  and (q.tenant_id, q.message_id, q.n) = (o.tenant_id, o.message_id, o.n)`

/**
 * The same row, and under our lease: what is not being sent has none. That it is being sent is not asked, or the planner
 * would read all that is under way instead of the rows that are named.
 */
export const isOurs = sql`${isSameRow} and q.lease_token = o.lease_token`

export const keyColumns = sql`account_id uuid, tenant_id uuid, message_id uuid, n integer`

export interface Lease extends Key {
  lease_token: string
}
