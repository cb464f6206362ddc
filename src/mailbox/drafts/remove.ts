// Drafts of an inbox or of a thread that is deleted. A draft outlives the thread that it continues: whether that thread was
// to be trusted stays with the draft.
import type { Tx } from '../../platform/db/database.ts'
import { deleteDraftsOfInbox } from './queries.ts'

/** Each may have 25 MB of attachments, and a statement has seconds. */
const BATCH_MAX = 20

/** Answers how many of them; none when there are no more. */
export const removeDraftsOfInbox = (tx: Tx, inboxId: string): Promise<number> =>
  deleteDraftsOfInbox(tx, inboxId, BATCH_MAX)

export { updateDraftsTainted as keepTaintInDrafts } from './queries.ts'
