// Lists of messages: of an inbox, newest first, and of a thread, oldest first.
import type { Lists, Reads, Db } from '../../platform/db/database.ts'
import { readPage, type Found, type Keyset } from '../../platform/http/paging.ts'
import type { Reach } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { listFoldersOf, listDiscardedFolders } from '../folders/find.ts'
import { requireInboxInReach } from '../inboxes/find.ts'
import { systemFolderOf } from '../folders/counts.ts'
import { readLabel } from './labels.ts'
import { listMessages, countInThread, listThreadMessages } from './list-queries.ts'
import { LISTED_ATTACHMENTS_MAX, type Hidden, type MessageSummary } from './message-schema.ts'
import { presentSummary } from './present.ts'
import { listAttachments, type MessageRow } from './queries.ts'
import { viewOf } from './view.ts'

interface PageAsked {
  folder?: string
  unread?: boolean
  direction?: 'in' | 'out'
  label?: string
  from?: string
  cursor?: string
  limit?: number
}

/**
 * One page of the messages of an inbox, as a caller asks for it. Folders and messages are of one moment: a message that is
 * moved meanwhile, into a folder that was empty, would be in none of those that are read.
 */
export async function readMessagePage(
  { db, secrets }: World,
  reach: Reach,
  { inboxId: asked, query, lists = db.lists }: { inboxId: string; query: PageAsked; lists?: Lists },
): Promise<{ messages: MessageSummary[]; next_cursor: string | null; hidden: Hidden }> {
  const { id: inboxId } = await requireInboxInReach(db, reach, asked)
  return lists.atOneMoment(async moment => {
    const { folders, isOneFolder, hidden } = viewOf(await listFoldersOf(moment, inboxId), query.folder)
    const isUnread = query.unread === true
    const wanted = {
      inboxId,
      folderIds: folders.filter(folder => (isUnread ? folder.unread : folder.total) > 0).map(({ id }) => id),
      isOneFolder,
      isUnread,
      isRead: query.unread === false,
      direction: query.direction ?? null,
      label: query.label === undefined ? null : readLabel('query.label', query.label),
      from: query.from ?? null,
    }
    const { rows, next_cursor } = await readPage(secrets, `inbox-messages/${inboxId}`, query, async keyset => {
      const found = await listMessages(moment, { ...wanted, ...keyset })
      return { ...found, rows: await withAttachments(moment, found.rows) }
    })
    return { messages: rows, next_cursor, hidden }
  })
}

/**
 * Each message with its first attachments, in the same order. All are asked for: `has_attachments` leaves out images that the
 * text shows, and readers need those too.
 */
export async function withAttachments(db: Reads, rows: readonly MessageRow[]): Promise<MessageSummary[]> {
  const sourceIds = [...new Set(rows.flatMap(row => row.source_id ?? []))]
  const perSource = LISTED_ATTACHMENTS_MAX + 1
  const attachments = sourceIds.length > 0 ? await listAttachments(db, sourceIds, perSource) : []
  const bySource = Map.groupBy(attachments, each => each.source_id)
  return rows.map(row =>
    presentSummary(row, (row.source_id && bySource.get(row.source_id)) || [], {
      attachmentsMax: LISTED_ATTACHMENTS_MAX,
    }),
  )
}

export async function listMessagesOfThread(
  db: Db,
  { id, inbox_id }: { id: string; inbox_id: string },
): Promise<{ hidden: Hidden; list(keyset: Keyset<string>): Promise<Found<MessageSummary>> }> {
  const trash = await systemFolderOf(db, inbox_id, 'trash')
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
