// The retention loop. Hourly; several processes at it do the same harmless work.
import type { Worker } from '../../platform/work/worker.ts'
import { enforceRetention } from './retention.ts'

export const messageLoops: Worker[] = [
  {
    kind: 'periodic',
    name: 'retention',
    seconds: 3600,
    run: async (world, signal) => {
      const done = await enforceRetention(world, signal)
      if (done.bodies + done.messages > 0) world.log.info(done, 'retention')
    },
  },
]
