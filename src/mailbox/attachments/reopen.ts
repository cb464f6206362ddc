// A mail that is filed for one account after another has attachments whose text may be known already.
import type { Tx } from '../../platform/db/database.ts'
import { updateToPending } from './queries.ts'

/**
 * For filing, with sources that have attachments: the words of the new messages lack the text of those that were read before,
 * so the worker makes them anew. What was read is not read again.
 */
export async function reopenTexts(tx: Tx, sourceIds: readonly string[]): Promise<void> {
  if (sourceIds.length > 0) await updateToPending(tx, sourceIds)
}
