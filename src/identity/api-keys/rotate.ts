// Rotating and revoking. Both hold in every process when the call returns, because every request looks its key up.
import type { Actor } from '../../platform/db/actor.ts'
import type { KeyPrincipal, Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import { mintApiKey } from '../../platform/secrets.ts'
import type { World } from '../../platform/world.ts'
import { requireNoWider } from '../access/rotation-right.ts'
import { requireKeyForUpdate, updateKeyRevoked, updateKeySecret } from './queries.ts'

/** A new secret in place: id, scopes, expiry and allow-list stay. */
export function rotateKey(world: World, by: Actor, caller: KeyPrincipal, id: string) {
  return world.db.transact(by, async tx => {
    const current = await requireKeyForUpdate(tx, caller.reach, id)
    // A tenant's key may renew its equals, never one that can do more than itself. Account-wide keys that may rotate one may
    // also create one, and are not asked.
    if (caller.level !== 'account') {
      if (!current.scopes.every(scope => caller.scopes.has(scope)))
        throw refuse('forbidden', 'This key holds scopes that yours does not.')
      requireNoWider(caller, current)
    }
    const { prefix, bearer, secretHash } = mintApiKey()
    const key = await updateKeySecret(tx, id, { prefix, secretHash })
    tx.audit({
      accountId: caller.reach.accountId,
      tenantId: key.tenant_id,
      target: { type: 'api_key', id: key.id },
      before: { prefix: current.prefix },
      after: { prefix: key.prefix },
    })
    return { ...key, secret: bearer }
  })
}

export function revokeKey(world: World, by: Actor, reach: Reach, id: string): Promise<void> {
  return world.db.transact(by, async tx => {
    const key = await requireKeyForUpdate(tx, reach, id)
    await updateKeyRevoked(tx, id)
    tx.audit({
      accountId: reach.accountId,
      tenantId: key.tenant_id,
      target: { type: 'api_key', id: key.id },
      before: key,
    })
  })
}
