// What was in an emptied folder is removed in batches, each under the lock of the inbox, then the discarded row itself.
import { lockUnlessOnHold } from '../../identity/accounts/legal-hold.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { removalRounds } from '../../platform/work/removal-rounds.ts'
import { lockInboxes } from '../inboxes/lock.ts'
import { listIdsInFolder, removeMessages } from '../messages/change.ts'
import { deleteFolderRow, isStillDiscarded, listDiscardedAnywhere, type DiscardedFolder } from './queries.ts'

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
