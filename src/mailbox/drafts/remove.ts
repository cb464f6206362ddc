// Drafts of an inbox that was deleted.
import type { Tx } from '../../platform/db/database.ts'
import { deleteDraftsOfInbox } from './queries.ts'

/** Each may have 25 MB of attachments, and a statement has seconds. */
const BATCH_MAX = 20

/** Answers how many of them; none when there are no more. */
export const removeDraftsOfInbox = (tx: Tx, inboxId: string): Promise<number> =>
  deleteDraftsOfInbox(tx, inboxId, BATCH_MAX)
