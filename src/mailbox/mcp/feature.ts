// Mailboxes for agents, over the Model Context Protocol.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import type { Composing } from '../compose/composing.ts'
import { Search } from '../search/search.ts'
import { mcpRoutes } from './routes.ts'

interface Shared {
  publicUrl: () => string
  composing: Composing
}

export const feature = (world: World, { publicUrl, composing }: Shared): Feature => ({
  routes: mcpRoutes(world, { publicUrl, use: { search: new Search(world, world.db), composing } }),
})
