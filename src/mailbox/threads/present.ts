// A thread as the API shows it.
import type { Thread } from './contract.ts'
import type { StoredThread } from './queries.ts'

export const presentThread = (thread: StoredThread): Thread => ({
  id: thread.id,
  inbox_id: thread.inbox_id,
  subject: thread.subject,
  participants: thread.participants,
  message_count: thread.message_count,
  unread_count: thread.unread_count,
  labels: thread.labels,
  tainted: thread.is_tainted,
  taint_reasons: thread.taint_reasons,
  last_message_at: thread.last_message_at.toISOString(),
  created_at: thread.created_at.toISOString(),
})

/** For a caller who may label and not read. */
export const withoutContent = (thread: Thread): Thread => ({
  ...thread,
  subject: '',
  participants: [],
  taint_reasons: [],
})
