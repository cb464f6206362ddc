// What the streams of an inbox tell of its messages.
import type { Tx } from '../../platform/db/database.ts'
import { ownerOf, type InboxOwner } from '../inboxes/lock.ts'
import type { MessageState } from './change-queries.ts'

export function recordUpdated(tx: Tx, inbox: InboxOwner, states: readonly MessageState[]): void {
  for (const { id, thread_id, folder, is_read, labels } of states) {
    const data = { message_id: id, thread_id, folder, read: is_read, labels }
    tx.record({ type: 'message.updated', ...ownerOf(inbox), data })
  }
}

export function recordDeleted(tx: Tx, inbox: InboxOwner, states: readonly MessageState[]): void {
  for (const { id, thread_id } of states) {
    tx.record({ type: 'message.deleted', ...ownerOf(inbox), data: { message_id: id, thread_id } })
  }
}
