// Messages: the API's way to the gate, reading them, and their retention.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import type { Gate } from './gate.ts'
import { enforceRetention, type EventReaders } from './retention.ts'
import { messageRoutes } from './routes.ts'

export const feature = (
  world: World,
  { gate, publicUrl, eventReaders }: { gate: Gate; publicUrl: () => string; eventReaders: EventReaders },
): Feature => ({
  routes: messageRoutes(world, gate, publicUrl),
  workers: [
    {
      kind: 'periodic',
      name: 'retention',
      seconds: 3600,
      run: async (_world, signal) => {
        const done = await enforceRetention(world, eventReaders, signal)
        if (done.bodies + done.messages > 0) world.log.info(done, 'retention')
      },
    },
  ],
})
