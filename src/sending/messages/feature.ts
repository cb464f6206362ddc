// Messages: the API's way to the gate, reading them, and their retention.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import type { Gate } from './gate.ts'
import { messageLoops } from './loops.ts'
import { messageRoutes } from './routes.ts'

export const feature = (world: World, { gate, publicUrl }: { gate: Gate; publicUrl: () => string }): Feature => ({
  routes: messageRoutes(world, gate, publicUrl),
  loops: messageLoops,
})
