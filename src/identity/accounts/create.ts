// Creating an account together with the key that lets its owner in.
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import type { World } from '../../platform/world.ts'
import { issueKey } from '../api-keys/issue.ts'
import type { ApiKeyWithSecret } from '../api-keys/key-schema.ts'
import type { Account, AccountCreate } from './contract.ts'
import { insertAccount } from './queries.ts'

interface NewAccount {
  account: Account
  api_key: ApiKeyWithSecret
}

export const createAccount = (world: World, by: Actor, wanted: AccountCreate): Promise<NewAccount> =>
  world.db.transact(by, tx => createAccountIn(tx, wanted))

/** As part of a larger transaction. */
export async function createAccountIn(tx: Tx, wanted: AccountCreate): Promise<NewAccount> {
  const account = await insertAccount(tx, {
    id: newId(tx.now),
    name: wanted.name,
    data_region: wanted.data_region ?? 'eu',
    sandbox: wanted.sandbox ?? false,
  })
  const api_key = await issueKey(tx, {
    accountId: account.id,
    tenantId: null,
    inboxId: null,
    name: 'bootstrap',
    scopes: ['admin'],
    allowedCidrs: [],
    expiresAt: null,
  })
  tx.audit({
    action: 'account.create',
    accountId: account.id,
    target: { type: 'account', id: account.id },
    after: { ...account, api_key_id: api_key.id },
  })
  return { account, api_key }
}
