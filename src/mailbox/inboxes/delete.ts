// Deleting an inbox. For every caller and for mail on its way it is gone at once, and its keys with it. What it held is
// removed in batches behind the answer, then its row; no event tells of it, because nobody can read its stream any more.
import { requireNoLegalHold, lockUnlessOnHold } from '../../identity/accounts/legal-hold.ts'
import { revokeKeysOfInbox, deleteKeysOfInbox } from '../../identity/api-keys/keys-of-inbox.ts'
import { system, type Actor } from '../../platform/db/actor.ts'
import type { Named } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import type { Tx } from '../../platform/db/database.ts'
import { removalRounds } from '../../platform/work/removal-rounds.ts'
import { endConnection, revokeEnded } from '../connections/disconnect.ts'
import { removeDraftsOfInbox } from '../drafts/remove.ts'
import { removeFoldersOfInbox } from '../folders/system.ts'
import { removeMessagesOfInbox } from '../messages/change.ts'
import { removeThreadsOfInbox } from '../threads/remove.ts'
import { auditIn } from './lock.ts'
import { presentInbox } from './present.ts'
import {
  requireInbox,
  requireInboxForUpdate,
  updateInboxDeleted,
  lockInboxToRemove,
  deleteInboxRow,
  listInboxesToRemoveAnywhere,
  type InboxToRemove,
} from './queries.ts'

/** Keys that an entry names: nobody counts them when they are made. */
const KEYS_NAMED_MAX = 1_000

export async function deleteInbox(world: World, by: Actor, { reach, id }: Named): Promise<void> {
  const connection = await world.db.transact(by, async tx => {
    // Before the hold is asked about: an inbox of somebody else is not found, whatever the caller's own hold.
    await requireInbox(tx, reach, id)
    await requireNoLegalHold(tx, reach.accountId)
    const inbox = await requireInboxForUpdate(tx, reach, id)
    await updateInboxDeleted(tx, inbox.id)
    const revoked = await revokeKeysOfInbox(tx, inbox.id)
    auditIn(tx, inbox, {
      before: presentInbox(inbox),
      ...(revoked.length > 0 && { after: keysRevoked(revoked.map(key => key.id)) }),
    })
    return endConnection(tx, inbox.id)
  })
  if (connection) await revokeEnded(world, connection)
  world.wakeups.hint('removals')
}

/** No other entry tells of them, and their rows go with the inbox. */
const keysRevoked = (ids: readonly string[]): { revoked_keys: number; revoked_key_ids: string[] } => ({
  revoked_keys: ids.length,
  revoked_key_ids: ids.toSorted().slice(0, KEYS_NAMED_MAX),
})

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
