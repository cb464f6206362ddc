// Finding the thread that a request names, as readers see it: without what an emptied folder still holds.
import type { Db, Reads } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import { notFound } from '../../platform/refusal.ts'
import { listDiscardedFolders } from '../folders/find.ts'
import { countDiscardedMessages, findThread, hasMessageOutside, type StoredThread } from './queries.ts'

/** The thread itself, or the one that it was merged into. A thread without messages is gone. */
export async function requireThread(db: Db, reach: Reach, id: string): Promise<StoredThread> {
  const found = await findThread(db, reach, id)
  if (!found) throw notFound('thread')
  const [thread] = await withoutDiscarded(db, found.inbox_id, [found])
  if (thread!.message_count > 0) return thread!
  const gone = await listDiscardedFolders(db, found.inbox_id)
  const folderIds = gone.map(folder => folder.id)
  if (!(await hasMessageOutside(db, found.id, folderIds))) throw notFound('thread')
  return thread!
}

/**
 * Messages in an emptied spam folder still count in their threads until they are removed; readers are not told of them.
 * An emptied trash changes no count, because its messages did not count before.
 */
export async function withoutDiscarded(
  db: Reads,
  inboxId: string,
  threads: readonly StoredThread[],
): Promise<StoredThread[]> {
  const spam = (await listDiscardedFolders(db, inboxId)).filter(folder => folder.name_key === 'spam')
  if (spam.length === 0 || threads.length === 0) return [...threads]
  const gone = await countDiscardedMessages(db, {
    threadIds: threads.map(({ id }) => id),
    folderIds: spam.map(({ id }) => id),
  })
  const byThread = new Map(gone.map(each => [each.thread_id, each]))
  return threads.map(thread => ({
    ...thread,
    message_count: thread.message_count - (byThread.get(thread.id)?.total ?? 0),
    unread_count: thread.unread_count - (byThread.get(thread.id)?.unread ?? 0),
  }))
}
