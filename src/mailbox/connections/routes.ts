// Handlers of /v1/inboxes/{id}/connect and of the way back from the provider.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import type { World } from '../../platform/world.ts'
import { authorize } from './authorize.ts'
import { finishConnecting } from './callback.ts'
import { connectCallbackEndpoint, connectEndpoint, disconnectEndpoint } from './contract.ts'
import { disconnect } from './disconnect.ts'

export const connectionRoutes = (world: World, publicUrl: () => string): Route[] => [
  route(connectEndpoint, async ({ by, caller, params }) => {
    const wanted = { caller, inboxId: params.id, provider: params.provider }
    return reply(200, { auth_url: await authorize(world, publicUrl(), by, wanted) })
  }),
  route(connectCallbackEndpoint, async ({ by, query }) => {
    const location = await finishConnecting(world, publicUrl(), by, query)
    // The address of this page holds the code: nobody who is linked to from the next one is told of it.
    return reply(302, null, { location, 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' })
  }),
  route(disconnectEndpoint, async ({ by, caller, params }) =>
    reply(200, await disconnect(world, by, { reach: caller.reach, inboxId: params.id })),
  ),
]
