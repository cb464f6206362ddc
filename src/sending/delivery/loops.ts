// The loops of delivery. The courier lives in the worker process; the loops drive it.
import { compactHolds } from '../../control/suspensions/unfinished.ts'
import { system } from '../../platform/db/actor.ts'
import { raise } from '../../platform/journal/anomaly.ts'
import type { Loop } from '../../platform/loops/loop.ts'
import type { Courier } from './courier.ts'
import { expireHeld } from './expire-held.ts'
import { letGoNext } from './let-go.ts'
import { parkLate } from './park-late.ts'
import { parkNext } from './park.ts'
import { reclaimLapsed } from './queries.ts'
import { keepWeekPartitions } from './week-partitions.ts'

/** Three workers that died holding the same mail did not die by chance (RELIABILITY, Poison). */
const CRASHES_MAX = 3
const RECLAIM_MAX = 1_000
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
  { kind: 'every', name: 'delivery-heartbeat', seconds: 10, run: () => courier.heartbeat() },
  {
    kind: 'every',
    name: 'delivery-lapsed-leases',
    seconds: 4,
    run: async world => {
      const lapsed = await world.db.transact(system('delivery-lapsed-leases'), async tx => {
        const rows = await reclaimLapsed(tx, { crashesMax: CRASHES_MAX, limit: RECLAIM_MAX })
        for (const { account_id, tenant_id, message_id, recipient, crashes, status } of rows) {
          if (status !== 'held') continue
          const about = { accountId: account_id, tenantId: tenant_id, messageId: message_id, recipient }
          tx.record({ type: 'held', ...about, data: { reason: 'set_aside', crashes } })
          raise(tx, {
            kind: 'message_set_aside',
            severity: 'critical',
            title: `A delivery to ${recipient} was set aside: ${crashes} workers died holding it.`,
            ...about,
            facts: { crashes },
          })
        }
        return rows
      })
      if (lapsed.length > 0) world.wakeups.hint('deliveries')
      for (const { message_id, n, status } of lapsed) {
        if (status === 'held')
          world.log.error({ message_id, n }, 'a delivery was set aside: three workers died holding it')
      }
    },
  },
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
