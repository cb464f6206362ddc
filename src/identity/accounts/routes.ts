// Handlers of /v1/account and /admin/v1/accounts.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { nextIdCursor, pageOf, readIdCursor } from '../../platform/http/paging.ts'
import { LIMIT_DEFAULT } from '../../platform/http/schemas.ts'
import type { World } from '../../platform/world.ts'
import {
  createAccountEndpoint,
  getAccountEndpoint,
  listAccountsEndpoint,
  updateAccountAsOperatorEndpoint,
  updateAccountEndpoint,
} from './contract.ts'
import { createAccount } from './create.ts'
import { listAccountsAnywhere, requireAccount } from './queries.ts'
import { updateAccount } from './update.ts'

export const accountRoutes = (world: World): Route[] => [
  route(createAccountEndpoint, async ({ by, body }) => reply(201, await createAccount(world, by, body))),
  route(listAccountsEndpoint, async ({ query }) => {
    const limit = query.limit ?? LIMIT_DEFAULT
    const after = readIdCursor(world.secrets, 'accounts', query.cursor)
    const page = pageOf(await listAccountsAnywhere(world.db.lists, { after, limit: limit + 1 }), limit)
    return reply(200, { accounts: page.rows, next_cursor: nextIdCursor(world.secrets, 'accounts', page) })
  }),
  route(updateAccountAsOperatorEndpoint, async ({ by, params, body }) =>
    reply(200, await updateAccount(world, by, params.id, body)),
  ),
  route(getAccountEndpoint, async ({ caller }) => {
    const account = await requireAccount(world.db, caller.reach.accountId)
    if (caller.level === 'account') return reply(200, account)
    const { id, name, status, data_region } = account
    return reply(200, { id, name, status, data_region })
  }),
  route(updateAccountEndpoint, async ({ by, caller, body }) =>
    reply(200, await updateAccount(world, by, caller.reach.accountId, body)),
  ),
]
