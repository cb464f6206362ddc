// The end of a connection: by a call, or because the inbox is deleted. What was synced stays; mail that still waits to leave
// through the provider is cancelled; the grant is given back as far as the provider lets itself be asked.
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { cancelRelayed } from '../../sending/relay/cancel.ts'
import { changeProvider } from '../inboxes/update.ts'
import type { Inbox } from '../inboxes/inbox-schema.ts'
import { requireInboxInReach, requireInboxToChange } from '../inboxes/find.ts'
import { auditIn } from '../inboxes/lock.ts'
import { notConfigured } from './authorize.ts'
import { revokeToken } from './oauth.ts'
import { providersOf } from './providers.ts'
import { deleteConnectionRow, findConnectionForUpdate, isConnected, type ConnectionRow } from './queries.ts'
import { openToken } from './seal.ts'

export async function disconnect(
  world: World,
  by: Actor,
  { reach, inboxId }: { reach: Reach; inboxId: string },
): Promise<Inbox> {
  const { provider } = await requireInboxInReach(world.db, reach, inboxId)
  const providers = providersOf(world.config)
  const isConfigured = provider === 'native' ? providers.google || providers.microsoft : providers[provider]
  if (!isConfigured) throw notConfigured()
  const { inbox, ended } = await world.db.transact(by, async tx => {
    const stored = await requireInboxToChange(tx, reach, inboxId)
    const connection = await endConnection(tx, stored.id)
    if (!connection) throw refuse('conflict', 'The inbox is not connected to a mailbox elsewhere.')
    const { provider: before, address, cancelled } = connection
    const after = { provider: 'native', cancelled_deliveries: cancelled }
    auditIn(tx, stored, { before: { provider: before, address }, after })
    return { inbox: await changeProvider(tx, stored.id, 'native'), ended: connection }
  })
  await revokeEnded(world, ended)
  return inbox
}

/** The inbox is locked. Answers what was connected, and how much mail is not sent for it; null: nothing was. */
export async function endConnection(tx: Tx, inboxId: string): Promise<(ConnectionRow & { cancelled: number }) | null> {
  const connection = await findConnectionForUpdate(tx, inboxId)
  if (!connection) return null
  await deleteConnectionRow(tx, inboxId)
  return { ...connection, cancelled: await cancelRelayed(tx, inboxId) }
}

/** After the commit that ended it: whatever happens to the grant, the connection is gone. */
export async function revokeEnded(world: World, ended: ConnectionRow): Promise<void> {
  const { inbox_id, refresh_token: sealed } = ended
  // Its session ends.
  world.wakeups.hint('connections')
  if (sealed === null) return
  try {
    const token = openToken(world.secrets, { ...ended, kind: 'refresh' }, sealed)
    await revokeGrant(world, ended, token)
  } catch (err) {
    world.log.warn({ err, inbox_id }, 'a grant could not be revoked')
  }
}

/** Best effort. Not where an inbox mirrors the same mailbox by another grant: that would end as well. */
export async function revokeGrant(
  world: World,
  granted: Pick<ConnectionRow, 'inbox_id' | 'provider' | 'address'>,
  refreshToken: string,
): Promise<void> {
  const provider = providersOf(world.config)[granted.provider]
  if (!provider || (await isConnected(world.db, granted))) return
  const failure = await revokeToken(provider, refreshToken)
  if (failure !== null) world.log.warn({ err: failure, inbox_id: granted.inbox_id }, 'a grant could not be revoked')
}
