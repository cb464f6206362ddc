// The accounts that the tail of deliveries left behind: each has slices of its own events, in turn with the others.
import type { Due } from '../../../platform/work/worker.ts'
import { lockUnlessBusy } from '../../inboxes/lock.ts'
import { backlogs } from './follow-deliveries.ts'
import { moveStatuses } from './move-statuses.ts'
import { findSliceEnd, listDeliveryEvents } from './queries.ts'

/**
 * Events of one slice. What they cost is learned, because it depends on how soon a delivery is found that decides. Of the
 * fewest each may ask for all recipients of the largest message, and they still take far less than a statement may.
 */
const EVENTS = { min: 10, max: 5_000 }

/** A slice comes as far as the first event whose inbox is locked: the events of an account keep their order. */
export const statusBacklog = (): Due =>
  backlogs.worker({
    name: 'mailbox-backlogs',
    rows: EVENTS,
    transactions: 'durable',
    take: async (tx, { accountId, ...left }, eventsMax) => {
      const upTo = (await findSliceEnd(tx, accountId, { ...left, eventsMax })) ?? left.upTo
      const events = await listDeliveryEvents(tx, accountId, { after: left.after, upTo })
      const busy = await lockUnlessBusy(tx, new Set(events.map(({ inbox_id }) => inbox_id)))
      const locked = events.findIndex(({ inbox_id }) => busy.has(inbox_id))
      await moveStatuses(tx, locked === -1 ? events : events.slice(0, locked))
      return { cursor: locked === -1 ? upTo : events[locked]!.id - 1, isLocked: locked !== -1 }
    },
  })
