// The workers of webhooks: fanning events out, pushing, forgetting.
import type { Worker } from '../../platform/work/worker.ts'
import { BacklogReader, fanOut } from './fan-out.ts'
import type { PushWorker } from './push-worker.ts'
import { AttemptRetention } from './retention.ts'

export const webhookLoops = (
  pushes: PushWorker,
  backlog = new BacklogReader(),
  retention = new AttemptRetention(),
): Worker[] => [
  fanOut(),
  {
    kind: 'due',
    name: 'webhook-backlogs',
    wakeOn: 'backlogs',
    pollSeconds: 1,
    run: (world, signal) => backlog.takeSlice(world, signal),
  },
  ...pushes.workers,
  {
    kind: 'periodic',
    name: 'webhook-retention',
    seconds: 600,
    run: (world, signal) => retention.removeOld(world, signal),
  },
]
