// Changing an inbox: its name, status, policy and metadata, and that it begins or ceases to mirror a mailbox elsewhere.
import { isDeepStrictEqual } from 'node:util'
import type { Actor } from '../../platform/db/actor.ts'
import type { Named } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { InboxUpdate } from './contract.ts'
import type { Inbox } from './inbox-schema.ts'
import { auditIn, ownerOf } from './lock.ts'
import { checkMetadata } from './metadata.ts'
import { mergePolicy } from './policy.ts'
import { presentInbox } from './present.ts'
import { requireInboxForUpdate, updateInboxRow, updateInboxProvider } from './queries.ts'

export function updateInbox(
  world: World,
  by: Actor,
  { reach, id, patch }: Named & { patch: InboxUpdate },
): Promise<Inbox> {
  if (patch.metadata) checkMetadata(patch.metadata)
  return world.db.transact(by, async tx => {
    const stored = await requireInboxForUpdate(tx, reach, id)
    const current = presentInbox(stored)
    const wanted = {
      display_name: patch.display_name === undefined ? current.display_name : patch.display_name,
      status: patch.status ?? current.status,
      policy: mergePolicy(current.policy, patch.policy ?? {}),
      metadata: patch.metadata ?? current.metadata,
    }
    const changed = (Object.keys(wanted) as (keyof typeof wanted)[]).filter(
      name => !isDeepStrictEqual(wanted[name], current[name]),
    )
    if (changed.length === 0) return current
    const inbox = presentInbox(await updateInboxRow(tx, { ...stored, ...wanted }))
    auditIn(tx, stored, {
      before: Object.fromEntries(changed.map(name => [name, current[name]])),
      after: Object.fromEntries(changed.map(name => [name, inbox[name]])),
    })
    tx.record({
      type: 'inbox.updated',
      ...ownerOf(stored),
      data: { changed, display_name: inbox.display_name, status: inbox.status },
    })
    return inbox
  })
}

/** The caller has locked the inbox and has changed its connection; who follows its stream is told. */
export async function changeProvider(tx: Tx, id: string, provider: Inbox['provider']): Promise<Inbox> {
  const stored = await updateInboxProvider(tx, id, provider)
  const inbox = presentInbox(stored)
  tx.record({
    type: 'inbox.updated',
    ...ownerOf(stored),
    data: { changed: ['provider', 'connection'], provider, connection: inbox.connection },
  })
  return inbox
}
