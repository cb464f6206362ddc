// The loops of webhooks. The messenger lives in the worker process; the loops drive it.
import { retryWhileUnavailable } from '../../platform/db/retry.ts'
import type { Worker } from '../../platform/work/worker.ts'
import { BacklogReader, fanOut } from './fan-out.ts'
import type { Messenger } from './messenger.ts'
import { removeOldAttempts } from './retention.ts'

export const webhookLoops = (messenger: Messenger, backlog = new BacklogReader()): Worker[] => [
  fanOut(),
  {
    kind: 'due',
    name: 'webhook-backlogs',
    wakeOn: 'backlogs',
    pollSeconds: 1,
    run: (world, signal) => backlog.takeSlice(world, signal),
  },
  { kind: 'due', name: 'webhooks', wakeOn: 'attempts', pollSeconds: 1, run: () => messenger.takeNext() },
  {
    kind: 'periodic',
    name: 'webhook-heartbeat',
    seconds: 10,
    run: (_world, signal) => retryWhileUnavailable(() => messenger.heartbeat(), signal),
  },
  {
    kind: 'periodic',
    name: 'webhook-retention',
    seconds: 600,
    run: async (world, signal) => {
      await removeOldAttempts(world, signal)
    },
  },
]
