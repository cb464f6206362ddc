// Removing the messages of a deleted inbox.
import type { Tx } from '../../platform/db/database.ts'
import { queueSourceRemovals } from '../sources/removals.ts'
import { deleteMessagesOfInbox } from './change-queries.ts'

/** One batch; answers how many are gone. */
export async function removeMessagesOfInbox(
  tx: Tx,
  { accountId, inboxId, limit }: { accountId: string; inboxId: string; limit: number },
): Promise<number> {
  const removed = await deleteMessagesOfInbox(tx, inboxId, limit)
  const sourceIds = removed.flatMap(({ source_id }) => (source_id === null ? [] : [source_id]))
  await queueSourceRemovals(tx, { accountId, sourceIds })
  return removed.length
}
