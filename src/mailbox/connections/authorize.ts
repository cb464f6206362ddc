// The first half of connecting: where the admin's browser is sent to agree.
import type { Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import type { KeyPrincipal } from '../../platform/principal.ts'
import { refuse, type Refusal } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { requireInboxInReach } from '../inboxes/find.ts'
import { auditIn } from '../inboxes/lock.ts'
import { authUrlOf } from './oauth.ts'
import { isProviderName, providersOf } from './providers.ts'
import { findConnection, insertState } from './queries.ts'
import { newContent, sealContent, signState, STATE_MS } from './state.ts'

interface Wanted {
  caller: Pick<KeyPrincipal, 'reach' | 'prefix'>
  inboxId: string
  provider: string
}

export async function authorize(
  world: World,
  publicUrl: string,
  by: Actor,
  { caller, inboxId, provider: name }: Wanted,
): Promise<string> {
  const inbox = await requireInboxInReach(world.db, caller.reach, inboxId)
  if (!isProviderName(name)) throw refuse('invalid_request', 'The provider must be google or microsoft.')
  const connection = await findConnection(world.db, inbox.id)
  // One whose grant is gone is connected again.
  if (connection && (connection.refresh_token !== null || connection.provider !== name)) {
    throw refuse('conflict', `The inbox is connected to ${connection.address} already. Disconnect it first.`)
  }
  const provider = providersOf(world.config)[name]
  if (!provider) throw notConfigured()
  const content = newContent(by, caller.prefix)
  return world.db.transact(by, async tx => {
    const id = newId(tx.now)
    await insertState(tx, {
      id,
      account_id: inbox.account_id,
      tenant_id: inbox.tenant_id,
      inbox_id: inbox.id,
      provider: name,
      content: sealContent(world.secrets, id, content),
      expires_at: new Date(tx.now.getTime() + STATE_MS),
    })
    // Never the URL: who has it can finish what was begun.
    auditIn(tx, inbox, { after: { provider: name } })
    return authUrlOf(provider, {
      ...content,
      state: signState(world.secrets, id),
      redirectUri: redirectUriOf(publicUrl),
    })
  })
}

export const redirectUriOf = (publicUrl: string): string => `${publicUrl}/v1/inboxes/connect/callback`

export const notConfigured = (): Refusal =>
  refuse('not_configured', 'Connected mailboxes are not configured on this installation for this provider.', {
    retryAfterSeconds: 3600,
  })
