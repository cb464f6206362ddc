// What a deleted inbox held is removed in batches, then its row. No event tells of it: nobody can read its stream any more.
import { lockUnlessOnHold } from '../../identity/accounts/legal-hold.ts'
import { deleteKeysOfInbox } from '../../identity/api-keys/keys-of-inbox.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { removalRounds } from '../../platform/work/removal-rounds.ts'
import { removeDraftsOfInbox } from '../drafts/remove.ts'
import { removeFoldersOfInbox } from '../folders/system.ts'
import { removeMessagesOfInbox } from '../messages/change.ts'
import { removeThreadsOfInbox } from '../threads/remove.ts'
import { lockInboxToRemove, deleteInboxRow, listInboxesToRemoveAnywhere, type InboxToRemove } from './queries.ts'

const BATCH_MAX = 500
/** Several at once, so that one of a million messages does not hold the others up. */
const INBOXES_AT_ONCE = 20

export const removeInboxes = () =>
  removalRounds<InboxToRemove>({
    name: 'inbox removal',
    list: ({ db }, except) => listInboxesToRemoveAnywhere(db, { limit: INBOXES_AT_ONCE, except }),
    remove: ({ db }, inbox) => db.transact(system('inbox removal'), tx => removeBatch(tx, inbox)),
  })

async function removeBatch(tx: Tx, { id, account_id: accountId }: InboxToRemove): Promise<number> {
  if (!(await lockUnlessOnHold(tx, accountId))) return 0
  if (!(await lockInboxToRemove(tx, id))) return 0
  const messages = await removeMessagesOfInbox(tx, { accountId, inboxId: id, limit: BATCH_MAX })
  if (messages === BATCH_MAX) return messages
  const threads = await removeThreadsOfInbox(tx, id, BATCH_MAX)
  if (threads > 0) return messages + threads
  const drafts = await removeDraftsOfInbox(tx, id)
  if (drafts > 0) return messages + drafts
  await removeFoldersOfInbox(tx, id)
  await deleteKeysOfInbox(tx, id)
  await deleteInboxRow(tx, id)
  return messages + 1
}
