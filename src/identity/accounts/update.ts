// Changing an account: by its own admins, or by the operator.
import { changedFields } from '../../platform/changes.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { World } from '../../platform/world.ts'
import type { Account, AccountOperatorUpdate, AccountUpdate } from './contract.ts'
import { requireAccountForUpdate, updateAccountRow } from './queries.ts'

export function updateAccount(
  world: World,
  by: Actor,
  id: string,
  patch: AccountUpdate | AccountOperatorUpdate,
): Promise<Account> {
  return world.db.transact(by, async tx => {
    const current = await requireAccountForUpdate(tx, id)
    const changes = changedFields<Account>(current, patch)
    if (!changes) return current
    const account: Account = { ...current, ...changes.after }
    await updateAccountRow(tx, account)
    tx.audit({ accountId: id, target: { type: 'account', id }, ...changes })
    return account
  })
}
