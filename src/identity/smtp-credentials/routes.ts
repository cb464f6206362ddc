// Handlers of SMTP credentials.
import { done, reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage } from '../../platform/http/paging.ts'
import type { World } from '../../platform/world.ts'
import { requireTenantInReach } from '../tenants/find.ts'
import * as contract from './contract.ts'
import { createCredential } from './create.ts'
import { listCredentials } from './queries.ts'
import { deleteCredential, rotateCredential } from './rotate.ts'

export const smtpCredentialRoutes = (world: World): Route[] => [
  route(contract.createCredentialEndpoint, async ({ by, caller, params, body }) =>
    reply(201, await createCredential(world, by, { reach: caller.reach, tenantId: params.id, wanted: body })),
  ),
  route(contract.listCredentialsEndpoint, async ({ caller, params, query }) => {
    const { rows, next_cursor } = await readPage(world.secrets, 'smtp-credentials', query, async keyset => {
      await requireTenantInReach(world.db, caller.reach, params.id)
      return listCredentials(world.db, caller.reach, { tenantId: params.id, ...keyset })
    })
    return reply(200, { credentials: rows, next_cursor })
  }),
  route(contract.rotateCredentialEndpoint, async ({ by, caller, params }) =>
    reply(200, await rotateCredential(world, by, caller, params.id)),
  ),
  route(contract.deleteCredentialEndpoint, ({ by, caller, params }) =>
    done(deleteCredential(world, by, caller.reach, params.id)),
  ),
]
