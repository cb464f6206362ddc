// The loops of delivery. The courier lives in the worker process; the loops drive it.
import { compactHolds } from '../../control/suspensions/unfinished.ts'
import { system } from '../../platform/db/actor.ts'
import { retryWhileUnavailable } from '../../platform/db/retry.ts'
import type { Loop } from '../../platform/loops/loop.ts'
import type { Courier } from './courier.ts'
import { expireHeld } from './expire-held.ts'
import { letGoNext } from './let-go.ts'
import { parkLate } from './park-late.ts'
import { parkNext } from './park.ts'
import { forgetHolders, reclaim } from './reclaim.ts'
import { keepWeekPartitions } from './week-partitions.ts'

/** Fewer changes of a pause's count than this are quickly added up by whoever asks. */
const HOLD_ROWS_MIN = 50

export const deliveryLoops = (courier: Courier): Loop[] => [
  {
    kind: 'work',
    name: 'delivery',
    wakeOn: 'deliveries',
    pollSeconds: 1,
    run: (_world, signal) => courier.takeNext(signal),
  },
  {
    kind: 'every',
    name: 'delivery-heartbeat',
    // Looks every second whether a heartbeat is due. It is at once when the database was lost, and then tried until the
    // database is back: who has not shown that it lives by then is taken for dead, and its mail is claimed by others.
    seconds: 1,
    run: async (_world, signal) => {
      if (courier.holder.isBeatDue) await retryWhileUnavailable(() => courier.heartbeat(), signal)
    },
  },
  { kind: 'every', name: 'delivery-lapsed-leases', seconds: 4, run: world => reclaim(world, courier.holder) },
  { kind: 'every', name: 'delivery-old-holders', seconds: 3600, run: forgetHolders },
  { kind: 'work', name: 'parking', wakeOn: 'suspensions', pollSeconds: 5, run: parkNext },
  { kind: 'every', name: 'parking-late', seconds: 5, run: parkLate },
  { kind: 'work', name: 'resuming', wakeOn: 'suspensions', pollSeconds: 5, run: letGoNext },
  { kind: 'every', name: 'hold-expiry', seconds: 60, run: expireHeld },
  {
    kind: 'every',
    name: 'hold-counts',
    seconds: 30,
    run: async world => {
      await world.db.transact(system('hold-counts'), tx => compactHolds(tx, HOLD_ROWS_MIN))
    },
  },
  { kind: 'every', name: 'message-partitions', seconds: 3600, run: keepWeekPartitions },
]
