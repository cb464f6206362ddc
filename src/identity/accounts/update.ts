// Changing an account: by its own admins, by the operator, or by what it pays for.
import { changedFields } from '../../platform/changes.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import type { Account, AccountOperatorUpdate, AccountUpdate } from './contract.ts'
import { requireAccountForUpdate, updateAccountRow } from './queries.ts'

type Patch = AccountUpdate | AccountOperatorUpdate

export const updateAccount = (world: World, by: Actor, id: string, patch: Patch): Promise<Account> =>
  world.db.transact(by, tx => updateAccountIn(tx, id, patch))

/** As part of a larger transaction. */
export async function updateAccountIn(tx: Tx, id: string, patch: Patch): Promise<Account> {
  const current = await requireAccountForUpdate(tx, id)
  const changes = changedFields<Account>(current, patch)
  if (!changes) return current
  const account: Account = { ...current, ...changes.after }
  await updateAccountRow(tx, account)
  tx.audit({ action: 'account.update', accountId: id, target: { type: 'account', id }, ...changes })
  return account
}
