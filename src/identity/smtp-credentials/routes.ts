// Handlers of SMTP credentials.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { nextIdCursor, pageOf, readIdCursor } from '../../platform/http/paging.ts'
import { LIMIT_DEFAULT } from '../../platform/http/schemas.ts'
import type { World } from '../../platform/world.ts'
import { requireTenantInReach } from '../tenants/find.ts'
import {
  createCredentialEndpoint,
  deleteCredentialEndpoint,
  listCredentialsEndpoint,
  rotateCredentialEndpoint,
} from './contract.ts'
import { createCredential } from './create.ts'
import { listCredentials } from './queries.ts'
import { deleteCredential, rotateCredential } from './rotate.ts'

export const smtpCredentialRoutes = (world: World): Route[] => [
  route(createCredentialEndpoint, async ({ by, caller, params, body }) =>
    reply(201, await createCredential(world, by, { reach: caller.reach, tenantId: params.id, wanted: body })),
  ),
  route(listCredentialsEndpoint, async ({ caller, params, query }) => {
    const limit = query.limit ?? LIMIT_DEFAULT
    const after = readIdCursor(world.secrets, 'smtp-credentials', query.cursor)
    await requireTenantInReach(world.db, caller.reach, params.id)
    const rows = await listCredentials(world.db, caller.reach, { tenantId: params.id, after, limit: limit + 1 })
    const page = pageOf(rows, limit)
    return reply(200, { credentials: page.rows, next_cursor: nextIdCursor(world.secrets, 'smtp-credentials', page) })
  }),
  route(rotateCredentialEndpoint, async ({ by, caller, params }) =>
    reply(200, await rotateCredential(world, by, caller, params.id)),
  ),
  route(deleteCredentialEndpoint, async ({ by, caller, params }) => {
    await deleteCredential(world, by, caller.reach, params.id)
    return reply(204, null)
  }),
]
