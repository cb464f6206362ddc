// Folders of inboxes, and the removal of what was in emptied ones.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { removeDiscarded } from './empty.ts'
import { folderRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({
  routes: folderRoutes(world),
  workers: [{ kind: 'due', name: 'folder-removal', wakeOn: 'removals', pollSeconds: 60, run: removeDiscarded() }],
})
