// A mail that is filed for one account after another has attachments whose text may be known already.
import type { Tx } from '../../platform/db/database.ts'
import { updateToPending, updateToShorterQueue } from './queries.ts'

/**
 * For filing, with sources that have attachments: the words of the new messages lack the text of those that were read before,
 * so the worker makes them anew. What was read is not read again.
 */
export async function reopenTexts(tx: Tx, sourceIds: readonly string[]): Promise<void> {
  if (sourceIds.length > 0) await updateToPending(tx, sourceIds)
}

/**
 * For filing: a mail waits in the queue of the account that filed it first. Where another account that got it has fewer that
 * wait, it waits there from now on: nobody keeps a mail from being looked at by sending it to himself as well.
 */
export async function shareQueues(tx: Tx, filed: readonly { sourceId: string; accountId: string }[]): Promise<void> {
  if (filed.length > 0) await updateToShorterQueue(tx, filed)
}
