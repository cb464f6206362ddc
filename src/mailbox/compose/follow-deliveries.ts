// Follows the journal: mail in a mailbox says what became of its deliveries, and its streams tell. An approved mail is sent
// when the first recipient has it.
import type { Tx } from '../../platform/db/database.ts'
import type { Tail } from '../../platform/work/worker.ts'
import { markSent } from '../approvals/mark-sent.ts'
import { lockInboxes } from '../inboxes/lock.ts'
import { updateStatuses } from '../messages/insert.ts'
import { statusAfter } from './status.ts'
import { countDeliveriesAnywhere, listDeliveryEventsAnywhere, type DeliveryEvent } from './status-queries.ts'

/** Events of deliveries, and what the streams of an inbox call them; null: only the status moves. */
const KINDS: Readonly<Record<string, string | null>> = {
  delivered: 'message.delivered',
  bounced: 'message.bounced',
  blocked: 'message.bounced',
  expired: 'message.bounced',
  complained: 'message.complained',
  cancelled: null,
  held: null,
  released: null,
}

export const deliveriesOfMailboxes: Tail = {
  kind: 'tail',
  name: 'mailbox-deliveries',
  batchMax: 5_000,
  read: async (_world, tx, { after, upTo }) => {
    const events = await listDeliveryEventsAnywhere(tx, { after, upTo, types: Object.keys(KINDS) })
    if (events.length > 0) await follow(tx, events)
  },
}

async function follow(tx: Tx, events: readonly DeliveryEvent[]): Promise<void> {
  await lockInboxes(tx, [...new Set(events.map(({ inbox_id }) => inbox_id))].toSorted())
  const counts = await countDeliveriesAnywhere(tx, [...new Set(events.map(({ message_id }) => message_id))])
  const messages = new Map(events.map(event => [event.inbox_message_id, event]))
  const moved = [...messages.values()]
    .map(message => ({ message, status: statusAfter(counts.get(message.message_id) ?? {}) }))
    .filter(({ message, status }) => message.status !== status)
  await updateStatuses(
    tx,
    moved.map(({ message, status }) => ({ id: message.inbox_message_id, status })),
  )
  const delivered = events.filter(({ type, approval_id }) => type === 'delivered' && approval_id !== null)
  await markSent(
    tx,
    delivered.map(({ approval_id }) => approval_id!),
  )
  for (const event of events) tell(tx, event, statusAfter(counts.get(event.message_id) ?? {}))
}

function tell(tx: Tx, event: DeliveryEvent, status: string): void {
  const type = KINDS[event.type] ?? 'message.updated'
  const { data, recipient } = event
  const details = ['bounce_type', 'smtp_code', 'enhanced_code', 'response'].flatMap(name =>
    data[name] === undefined ? [] : [[name, data[name]] as const],
  )
  tx.record({
    type,
    accountId: event.account_id,
    tenantId: event.tenant_id,
    inboxId: event.inbox_id,
    data: {
      message_id: event.inbox_message_id,
      thread_id: event.thread_id,
      submission_id: event.message_id,
      recipient,
      event: event.type,
      status,
      ...Object.fromEntries(details),
    },
  })
}
