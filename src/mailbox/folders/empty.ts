// Emptying trash or spam. The row of the folder is discarded and a fresh one takes its name: one act for any number of
// messages, after which no reader sees them. Their removal follows in batches (remove.ts).
import { lockUnlessOnHold } from '../../identity/accounts/legal-hold.ts'
import type { Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { requireInboxInReach, requireInboxToChange } from '../inboxes/find.ts'
import { onLegalHold } from '../messages/change.ts'
import type { FolderOrder } from './create.ts'
import { auditFolder } from './events.ts'
import { requireFolder } from './find.ts'
import { insertFolders, updateFolderDiscarded } from './queries.ts'

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
