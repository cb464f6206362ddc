// Handlers of /v1/account and /admin/v1/accounts.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage } from '../../platform/http/paging.ts'
import type { World } from '../../platform/world.ts'
import * as contract from './contract.ts'
import { createAccount } from './create.ts'
import { findAiTokensUsed, listAccountsAnywhere, requireAccountAnywhere } from './queries.ts'
import { updateAccount } from './update.ts'

export const accountRoutes = (world: World): Route[] => [
  route(contract.createAccountEndpoint, async ({ by, body }) => reply(201, await createAccount(world, by, body))),
  route(contract.listAccountsEndpoint, async ({ query }) => {
    const { rows, next_cursor } = await readPage(world.secrets, 'accounts', query, keyset =>
      listAccountsAnywhere(world.db.lists, keyset),
    )
    return reply(200, { accounts: rows, next_cursor })
  }),
  route(contract.updateAccountAsOperatorEndpoint, async ({ by, params, body }) =>
    reply(200, await updateAccount(world, by, params.id, body)),
  ),
  route(contract.getAccountEndpoint, async ({ caller }) => {
    const account = await requireAccountAnywhere(world.db, caller.reach.accountId)
    if (caller.level === 'account') return reply(200, await withUsage(world, account))
    const { id, name, status, data_region } = account
    return reply(200, { id, name, status, data_region })
  }),
  route(contract.updateAccountEndpoint, async ({ by, caller, body }) =>
    reply(200, await withUsage(world, await updateAccount(world, by, caller.reach.accountId, body))),
  ),
]

const withUsage = async (world: World, account: contract.Account) => ({
  ...account,
  ai_tokens_used: await findAiTokensUsed(world.db, account.id, world.clock.now()),
})
