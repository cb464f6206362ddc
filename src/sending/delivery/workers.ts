// The workers of delivery. The courier lives in the worker process; the workers drive it.
import { retryWhileUnavailable } from '../../platform/db/retry.ts'
import type { Worker } from '../../platform/work/worker.ts'
import type { Courier } from './courier.ts'
import { forgetHolders, reclaim } from './reclaim.ts'
import { forgetStsPolicies } from '../sts/store.ts'
import { keepWeekPartitions } from './week-partitions.ts'

export const deliveryWorkers = (courier: Courier): Worker[] => [
  {
    kind: 'due',
    name: 'delivery',
    wakeOn: 'deliveries',
    pollSeconds: 1,
    run: (_world, signal) => courier.takeNext(signal),
  },
  {
    kind: 'periodic',
    name: 'delivery-heartbeat',
    // Looks every second whether a heartbeat is due. It is at once when the database was lost, and then tried until the
    // database is back: who has not shown that it lives by then is taken for dead, and its mail is claimed by others.
    seconds: 1,
    run: async (_world, signal) => {
      if (courier.holder.isBeatDue) await retryWhileUnavailable(() => courier.heartbeat(), signal)
    },
  },
  { kind: 'periodic', name: 'delivery-lapsed-leases', seconds: 4, run: world => reclaim(world, courier.holder) },
  { kind: 'periodic', name: 'delivery-old-holders', seconds: 3600, run: forgetHolders },
  { kind: 'periodic', name: 'delivery-lapsed-policies', seconds: 3600, run: forgetStsPolicies },
  { kind: 'periodic', name: 'message-partitions', seconds: 3600, run: keepWeekPartitions },
]
