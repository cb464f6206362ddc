// The messages of a thread, oldest first. What is in trash is left out, and said to be.
import type { Db } from '../../platform/db/database.ts'
import type { Found, Keyset } from '../../platform/http/paging.ts'
import { listDiscardedFolders } from '../folders/find.ts'
import { findSystemFolders } from '../folders/counts.ts'
import { withAttachments } from './list.ts'
import { countInThread, listThreadMessages } from './list-queries.ts'
import type { Hidden, MessageSummary } from './message-schema.ts'

export async function listMessagesOfThread(
  db: Db,
  { id, inbox_id }: { id: string; inbox_id: string },
): Promise<{ hidden: Hidden; list(keyset: Keyset<string>): Promise<Found<MessageSummary>> }> {
  const trash = (await findSystemFolders(db, [inbox_id])).get(inbox_id)!.trash
  const discarded = await listDiscardedFolders(db, inbox_id)
  const hiddenFolderIds = [trash, ...discarded.map(folder => folder.id)]
  const { total, blocked } = await countInThread(db, id, trash)
  return {
    hidden: { spam: 0, trash: total, blocked },
    list: async keyset => {
      const found = await listThreadMessages(db, { threadId: id, hiddenFolderIds, ...keyset })
      return { ...found, rows: await withAttachments(db, found.rows) }
    },
  }
}
