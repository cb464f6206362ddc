// Handlers of /v1/inboxes/{id}/folders.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import type { World } from '../../platform/world.ts'
import { requireInboxInReach } from '../inboxes/find.ts'
import * as contract from './contract.ts'
import { createFolder, renameFolder } from './create.ts'
import { deleteFolder } from './delete.ts'
import { emptyFolder } from './empty.ts'
import { inOrder, presentFolder } from './present.ts'
import { listFolders } from './queries.ts'

export const folderRoutes = (world: World): Route[] => [
  route(contract.listFoldersEndpoint, async ({ caller, params }) => {
    const { id } = await requireInboxInReach(world.db, caller.reach, params.id)
    return reply(200, { folders: inOrder(await listFolders(world.db, id)).map(presentFolder) })
  }),
  route(contract.createFolderEndpoint, async ({ by, caller, params, body }) =>
    reply(201, await createFolder(world, by, { reach: caller.reach, inboxId: params.id, name: body.name })),
  ),
  route(contract.renameFolderEndpoint, async ({ by, caller, params, body }) => {
    const order = { reach: caller.reach, inboxId: params.id, name: params.name, to: body.name }
    return reply(200, await renameFolder(world, by, order))
  }),
  route(contract.deleteFolderEndpoint, async ({ by, caller, params, query }) => {
    const moveTo = query.move_to ?? null
    return reply(
      200,
      await deleteFolder(world, by, { reach: caller.reach, inboxId: params.id, name: params.name, moveTo }),
    )
  }),
  route(contract.emptyFolderEndpoint, async ({ by, caller, params }) =>
    reply(200, await emptyFolder(world, by, { reach: caller.reach, inboxId: params.id, name: params.name })),
  ),
]
