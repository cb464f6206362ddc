// One act on many messages of an inbox.
import { lockUnlessOnHold } from '../../identity/accounts/legal-hold.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { requireDestination } from '../folders/find.ts'
import { requireInboxInReach, requireInboxToChange } from '../inboxes/find.ts'
import { auditIn } from '../inboxes/lock.ts'
import { changeMessages, type Change } from './change.ts'
import type { BatchRequest } from './contract.ts'

interface Batch {
  reach: Reach
  inboxId: string
  wanted: BatchRequest
}

/** An id that is given twice counts once. */
export async function changeBatch(world: World, by: Actor, { reach, inboxId, wanted }: Batch) {
  const ids = [...new Set(wanted.ids.map(id => id.toLowerCase()))]
  const result = await world.db.transact(by, async tx => {
    await requireInboxInReach(tx, reach, inboxId)
    const mayRemove = wanted.action !== 'delete' || (await lockUnlessOnHold(tx, reach.accountId))
    const inbox = await requireInboxToChange(tx, reach, inboxId)
    const change = await changeOf(tx, inbox.id, wanted, mayRemove)
    const { found, moved, deleted, marked } = await changeMessages(tx, inbox, ids, change)
    const changed = [...moved, ...deleted, ...marked]
    if (changed.length > 0) {
      auditIn(tx, inbox, {
        after: { action: wanted.action, ...(change.kind === 'move' && { folder: change.folder.name }), ids: changed },
      })
    }
    return { moved: moved.length, deleted: deleted.length, missing: ids.length - found.length }
  })
  if (result.deleted > 0) world.wakeups.hint('removals')
  return result
}

async function changeOf(
  tx: Tx,
  inboxId: string,
  { action, folder, permanent = false }: BatchRequest,
  mayRemove: boolean,
): Promise<Change> {
  switch (action) {
    case 'read':
    case 'unread':
      return { kind: 'read', isRead: action === 'read' }
    case 'delete':
      return { kind: 'delete', isPermanent: permanent, mayRemove }
    case 'move': {
      if (folder === undefined) throw refuse('invalid_request', 'body.folder is required for move.')
      return { kind: 'move', folder: await requireDestination(tx, { inboxId, name: folder, field: 'body.folder' }) }
    }
  }
}
