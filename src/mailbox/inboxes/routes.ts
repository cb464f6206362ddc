// Handlers of /v1/inboxes.
import { done, reply, route, type Route } from '../../platform/http/contract.ts'
import type { World } from '../../platform/world.ts'
import * as contract from './contract.ts'
import { createInbox } from './create.ts'
import { deleteInbox } from './delete.ts'
import { readInboxPage } from './page.ts'
import { presentInbox } from './present.ts'
import { requireInbox } from './queries.ts'
import { updateInbox } from './update.ts'

export const inboxRoutes = (world: World): Route[] => [
  route(contract.createInboxEndpoint, async ({ by, caller, params, body }) =>
    reply(201, await createInbox(world, by, { reach: caller.reach, tenantId: params.id, wanted: body })),
  ),
  route(contract.listInboxesEndpoint, async ({ caller, query }) =>
    reply(200, await readInboxPage(world, caller.reach, query)),
  ),
  route(contract.getInboxEndpoint, async ({ caller, params }) =>
    reply(200, presentInbox(await requireInbox(world.db, caller.reach, params.id))),
  ),
  route(contract.updateInboxEndpoint, async ({ by, caller, params, body }) =>
    reply(200, await updateInbox(world, by, { reach: caller.reach, id: params.id, patch: body })),
  ),
  route(contract.deleteInboxEndpoint, ({ by, caller, params }) =>
    done(deleteInbox(world, by, { reach: caller.reach, id: params.id })),
  ),
]
