// The loops of webhooks. The messenger lives in the worker process; the loops drive it.
import { retryWhileUnavailable } from '../../platform/db/retry.ts'
import type { Loop } from '../../platform/loops/loop.ts'
import { fanOut } from './fan-out.ts'
import type { Messenger } from './messenger.ts'
import { removeOldAttempts } from './retention.ts'

export const webhookLoops = (messenger: Messenger): Loop[] => [
  fanOut(),
  { kind: 'work', name: 'webhooks', wakeOn: 'attempts', pollSeconds: 1, run: () => messenger.takeNext() },
  {
    kind: 'every',
    name: 'webhook-heartbeat',
    seconds: 10,
    run: (_world, signal) => retryWhileUnavailable(() => messenger.heartbeat(), signal),
  },
  {
    kind: 'every',
    name: 'webhook-retention',
    seconds: 600,
    run: async (world, signal) => {
      await removeOldAttempts(world, signal)
    },
  },
]
