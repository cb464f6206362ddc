// Emptying trash or spam. The row of the folder is discarded and a fresh one takes its name: one act for any number of
// messages, after which no reader sees them. What was in it is removed in batches, each under the lock of the inbox, then the
// discarded row itself.
import { lockUnlessOnHold } from '../../identity/accounts/legal-hold.ts'
import { system, type Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import type { Tx } from '../../platform/db/database.ts'
import { removalRounds } from '../../platform/work/removal-rounds.ts'
import { requireInboxInReach, requireInboxToChange } from '../inboxes/find.ts'
import { onLegalHold, listIdsInFolder, removeMessages } from '../messages/change.ts'
import { lockInboxes } from '../inboxes/lock.ts'
import type { FolderOrder } from './create.ts'
import { auditFolder, requireFolder } from './find.ts'
import {
  insertFolders,
  updateFolderDiscarded,
  deleteFolderRow,
  isStillDiscarded,
  listDiscardedAnywhere,
  type DiscardedFolder,
} from './queries.ts'

export async function emptyFolder(
  world: World,
  by: Actor,
  { reach, inboxId, name }: FolderOrder,
): Promise<{ deleted: number }> {
  const result = await world.db.transact(by, async tx => {
    await requireInboxInReach(tx, reach, inboxId)
    const mayRemove = await lockUnlessOnHold(tx, reach.accountId)
    const inbox = await requireInboxToChange(tx, reach, inboxId)
    const folder = await requireFolder(tx, inbox.id, name)
    if (!folder.is_system || !['trash', 'spam'].includes(folder.name_key)) {
      throw refuse('invalid_request', 'Only trash and spam can be emptied.')
    }
    if (folder.total === 0) return { deleted: 0 }
    if (!mayRemove) throw onLegalHold()
    await updateFolderDiscarded(tx, folder.id)
    const { name: shown, name_key } = folder
    await insertFolders(tx, [{ id: newId(tx.now), inbox_id: inbox.id, name: shown, name_key, is_system: true }])
    auditFolder(tx, inbox, folder.id, { before: { inbox_id: inbox.id, name: folder.name, total: folder.total } })
    return { deleted: folder.total }
  })
  if (result.deleted > 0) world.wakeups.hint('removals')
  return result
}

/** Few enough that a mail which is filed meanwhile waits for some ten milliseconds. */
const BATCH_MAX = 200
/** Several at once, so that one of a hundred thousand messages does not hold the others up. */
const FOLDERS_AT_ONCE = 20

export const removeDiscarded = () =>
  removalRounds<DiscardedFolder>({
    name: 'folder removal',
    list: ({ db }, except) => listDiscardedAnywhere(db, { limit: FOLDERS_AT_ONCE, except }),
    remove: ({ db }, folder) => db.transact(system('folder removal'), tx => removeBatch(tx, folder)),
  })

async function removeBatch(tx: Tx, { id, inbox_id, account_id }: DiscardedFolder): Promise<number> {
  if (!(await lockUnlessOnHold(tx, account_id))) return 0
  const [inbox] = await lockInboxes(tx, [inbox_id])
  if (!inbox || !(await isStillDiscarded(tx, id))) return 0
  const ids = await listIdsInFolder(tx, id, BATCH_MAX)
  if (ids.length > 0) await removeMessages(tx, inbox, ids)
  if (ids.length === BATCH_MAX) return ids.length
  await deleteFolderRow(tx, id)
  return ids.length + 1
}
