// Deleting a custom folder. What is in it is moved first, in batches, each a transaction of its own: every one leaves the
// mailbox right, and a call that is cut short is finished by the next.
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { requireInboxToChange } from '../inboxes/find.ts'
import { changeMessages, listIdsInFolder } from '../messages/change.ts'
import type { FolderOrder } from './create.ts'
import { auditFolder, recordFoldersChanged, requireDestination, requireFolder } from './find.ts'
import { deleteFolderRow } from './queries.ts'

/** For one whose messages the caller has moved, under the lock of the inbox. */
export { deleteFolderRow as removeEmptyFolder } from './queries.ts'

const BATCH_MAX = 1_000
/** A million messages. Others may move mail into the folder all the while: the call ends in any case. */
const BATCHES_MAX = 1_000

interface Deletion extends FolderOrder {
  moveTo: string | null
}

export async function deleteFolder(
  world: World,
  by: Actor,
  deletion: Deletion,
): Promise<{ name: string; moved: number }> {
  let moved = 0
  for (let batches = 0; batches < BATCHES_MAX; batches++) {
    const batch = await world.db.transact(by, tx => moveBatch(tx, deletion))
    moved += batch.moved
    if (batch.isDeleted) return { name: batch.name, moved }
  }
  throw refuse('conflict', `The folder still holds messages after ${moved} were moved. Delete it again to go on.`)
}

/** Each leaves an entry of its own: a call that is cut short has told what it moved. */
async function moveBatch(tx: Tx, { reach, inboxId, name, moveTo }: Deletion) {
  const inbox = await requireInboxToChange(tx, reach, inboxId)
  const folder = await requireFolder(tx, inbox.id, name)
  if (folder.is_system) throw refuse('conflict', 'A system folder cannot be deleted.')
  const destination =
    moveTo === null ? null : await requireDestination(tx, { inboxId: inbox.id, name: moveTo, field: 'query.move_to' })
  if (destination?.id === folder.id) throw refuse('invalid_request', 'query.move_to must be another folder.')
  if (folder.total > 0 && !destination) {
    throw refuse('folder_not_empty', 'The folder is not empty. Say where its messages go: move_to.')
  }
  const ids = destination && folder.total > 0 ? await listIdsInFolder(tx, folder.id, BATCH_MAX) : []
  if (destination && ids.length > 0) await changeMessages(tx, inbox, ids, { kind: 'move', folder: destination })
  const isDeleted = ids.length === folder.total
  if (isDeleted) await deleteFolderRow(tx, folder.id)
  auditFolder(tx, inbox, folder.id, {
    before: { inbox_id: inbox.id, name: folder.name },
    after: { move_to: destination?.name ?? null, moved: ids.length, deleted: isDeleted },
  })
  if (isDeleted) recordFoldersChanged(tx, inbox)
  return { name: folder.name, moved: ids.length, isDeleted }
}
