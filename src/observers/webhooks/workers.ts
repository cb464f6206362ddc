// The workers of webhooks: fanning events out, pushing, forgetting.
import type { Worker } from '../../platform/work/worker.ts'
import { fanOut, fanOutBacklog } from './fan-out.ts'
import type { PushWorker } from './push-worker.ts'
import { AttemptRetention } from './retention.ts'

export const webhookWorkers = (pushes: PushWorker, retention = new AttemptRetention()): Worker[] => [
  fanOut(),
  fanOutBacklog(),
  ...pushes.workers,
  {
    kind: 'periodic',
    name: 'webhook-retention',
    seconds: 600,
    run: (world, signal) => retention.removeOld(world, signal),
  },
]
