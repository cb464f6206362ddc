// Threads end with their last message.
import type { Tx } from '../../platform/db/database.ts'
import { keepTaintInDrafts } from '../drafts/remove.ts'
import { deleteReferencesOfInbox, deleteThreads, deleteThreadsOfInbox, listEmptyThreads } from './queries.ts'

/** Of these: threads without any message, with what referred to them. */
export async function removeEmptyThreads(tx: Tx, ids: readonly string[]): Promise<void> {
  const empty = await listEmptyThreads(tx, ids)
  if (empty.length === 0) return
  const tainted = empty.filter(({ is_tainted }) => is_tainted).map(({ id }) => id)
  if (tainted.length > 0) await keepTaintInDrafts(tx, tainted)
  await deleteThreads(
    tx,
    empty.map(({ id }) => id),
  )
}

/** Of a deleted inbox without messages: one batch; answers how many rows are gone. */
export async function removeThreadsOfInbox(tx: Tx, inboxId: string, limit: number): Promise<number> {
  const references = await deleteReferencesOfInbox(tx, inboxId, limit)
  return references === limit ? references : references + (await deleteThreadsOfInbox(tx, inboxId, limit))
}
