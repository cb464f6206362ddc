// The loops of delivery. The courier lives in the worker process; the loops drive it.
import { compactHolds } from '../../control/suspensions/unfinished.ts'
import { system } from '../../platform/db/actor.ts'
import { retryWhileUnavailable } from '../../platform/db/retry.ts'
import type { Due, Worker } from '../../platform/work/worker.ts'
import type { Courier } from './courier.ts'
import { expireHeld } from './expire-held.ts'
import { letGoNext } from './let-go.ts'
import { parkLate } from './park-late.ts'
import { parkNext } from './park.ts'
import { forgetHolders, reclaim } from './reclaim.ts'
import { keepWeekPartitions } from './week-partitions.ts'

/** Fewer changes of a pause's count than this are quickly added up by whoever asks. */
const HOLD_ROWS_MIN = 50

export const deliveryLoops = (courier: Courier): Worker[] => [
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
  { kind: 'due', name: 'parking', wakeOn: 'suspensions', pollSeconds: 5, run: leavingRoomFor(parkNext) },
  { kind: 'periodic', name: 'parking-late', seconds: 5, run: parkLate },
  { kind: 'due', name: 'resuming', wakeOn: 'suspensions', pollSeconds: 5, run: leavingRoomFor(letGoNext) },
  { kind: 'periodic', name: 'hold-expiry', seconds: 60, run: expireHeld },
  {
    kind: 'periodic',
    name: 'hold-counts',
    seconds: 30,
    run: async world => {
      await world.db.transact(system('hold-counts'), tx => compactHolds(tx, HOLD_ROWS_MIN))
    },
  },
  { kind: 'periodic', name: 'message-partitions', seconds: 3600, run: keepWeekPartitions },
]

/** Delivery leaves room for whoever moves much of the same queue. */
const leavingRoomFor =
  (run: Due['run']): Due['run'] =>
  (world, signal) =>
    world.load.yieldDuring(() => run(world, signal))
