// Messages take the status that their deliveries give them, and the streams are told each event. An approved mail is sent
// when the first recipient has it. The caller has locked the inboxes.
import type { Tx } from '../../../platform/db/database.ts'
import { markSent } from '../../approvals/companion.ts'
import { ownerOf } from '../../inboxes/lock.ts'
import { updateStatuses } from '../../messages/insert.ts'
import { EVENT_KINDS, listStatuses, type DeliveryEvent } from './queries.ts'

export async function moveStatuses(tx: Tx, events: readonly DeliveryEvent[]): Promise<void> {
  if (events.length === 0) return
  const submissions = new Map(events.map(event => [event.message_id, event]))
  const statuses = await listStatuses(tx, [...submissions.values()])
  const messages = new Map(events.map(event => [event.inbox_message_id, event]))
  await updateStatuses(
    tx,
    [...messages.values()]
      .map(message => ({
        id: message.inbox_message_id,
        was: message.status,
        status: statuses.get(message.message_id)!,
      }))
      .filter(({ was, status }) => was !== status),
  )
  const delivered = events.flatMap(({ type, approval_id }) => (type === 'delivered' ? (approval_id ?? []) : []))
  await markSent(tx, delivered)
  for (const event of events) tell(tx, event, statuses.get(event.message_id)!)
}

function tell(tx: Tx, event: DeliveryEvent, status: string): void {
  const { data, recipient } = event
  const details = ['bounce_type', 'smtp_code', 'enhanced_code', 'response'].flatMap(name =>
    data[name] === undefined ? [] : [[name, data[name]] as const],
  )
  tx.record({
    type: EVENT_KINDS[event.type] ?? 'message.updated',
    ...ownerOf({ ...event, id: event.inbox_id }),
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
