// Threads end with their last message.
import type { Tx } from '../../platform/db/database.ts'
import { deleteEmptyThreads, deleteReferencesOfInbox, deleteThreadsOfInbox } from './queries.ts'

/** Of these: threads without any message, with what referred to them. */
export const removeEmptyThreads = (tx: Tx, ids: readonly string[]): Promise<void> => deleteEmptyThreads(tx, ids)

/** Of a deleted inbox without messages: one batch; answers how many rows are gone. */
export async function removeThreadsOfInbox(tx: Tx, inboxId: string, limit: number): Promise<number> {
  const references = await deleteReferencesOfInbox(tx, inboxId, limit)
  return references === limit ? references : references + (await deleteThreadsOfInbox(tx, inboxId, limit))
}
