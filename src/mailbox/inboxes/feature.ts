// Inboxes: addresses on domains of a tenant.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { removeInboxes } from './delete.ts'
import { inboxRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({
  routes: inboxRoutes(world),
  workers: [{ kind: 'due', name: 'inbox-removal', wakeOn: 'removals', pollSeconds: 60, run: removeInboxes() }],
})
