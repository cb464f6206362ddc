// Search in inboxes.
import type { Feature } from '../../platform/feature.ts'
import { reply, route } from '../../platform/http/contract.ts'
import type { World } from '../../platform/world.ts'
import { searchEndpoint } from './contract.ts'
import { Search } from './search.ts'

export const feature = (world: World): Feature => {
  const search = new Search(world)
  return {
    routes: [
      route(searchEndpoint, async ({ caller, params, query }) =>
        reply(200, await search.find(caller.reach, { ...query, inboxId: params.id.toLowerCase() })),
      ),
    ],
  }
}
