// Rotating and deleting. Both hold in every process when the call returns, because every login looks its credential up.
import type { Actor } from '../../platform/db/actor.ts'
import { mayAct, type KeyPrincipal, type Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import { mintSecret, sha256 } from '../../platform/secrets.ts'
import type { World } from '../../platform/world.ts'
import { requireNoWider } from '../access/rotation-right.ts'
import { deleteCredentialRow, requireCredentialForUpdate, updateCredentialPassword } from './queries.ts'

/** A new password in place: id, username and allow-list stay. */
export function rotateCredential(world: World, by: Actor, caller: KeyPrincipal, id: string) {
  // A tenant's key may renew what lets in to no more than itself. Asked before the
  // credential is looked for, so that a key without the scope cannot learn which ids exist.
  if (!mayAct(caller, 'send')) throw refuse('insufficient_scope', 'This needs a key with the scope send.')
  return world.db.transact(by, async tx => {
    const before = await requireCredentialForUpdate(tx, caller.reach, id)
    // A credential never expires. Account-wide keys that may rotate one may also create one, and are not asked.
    if (caller.level !== 'account') requireNoWider(caller, { ...before, expires_at: null })
    const password = mintSecret()
    const credential = await updateCredentialPassword(tx, id, sha256(password))
    tx.audit({
      accountId: caller.reach.accountId,
      tenantId: credential.tenant_id,
      target: { type: 'smtp_credential', id },
      before: { rotated_at: before.rotated_at },
      after: { rotated_at: credential.rotated_at },
    })
    return { ...credential, password }
  })
}

export function deleteCredential(world: World, by: Actor, reach: Reach, id: string): Promise<void> {
  return world.db.transact(by, async tx => {
    const credential = await requireCredentialForUpdate(tx, reach, id)
    await deleteCredentialRow(tx, id)
    tx.audit({
      accountId: reach.accountId,
      tenantId: credential.tenant_id,
      target: { type: 'smtp_credential', id },
      before: credential,
    })
  })
}
