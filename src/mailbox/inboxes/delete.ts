// Deleting an inbox. For every caller and for mail on its way it is gone at once, and its keys with it; what it held is
// removed in batches behind the answer (remove.ts).
import { requireNoLegalHold } from '../../identity/accounts/legal-hold.ts'
import { revokeKeysOfInbox } from '../../identity/api-keys/keys-of-inbox.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Named } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { endConnection, revokeEnded } from '../connections/disconnect.ts'
import { auditIn } from './lock.ts'
import { presentInbox } from './present.ts'
import { requireInbox, requireInboxForUpdate, updateInboxDeleted } from './queries.ts'

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
