// The accounts that the tail of deliveries left behind: each has slices of its own events, in turn with the others.
import { setTimeout as delay } from 'node:timers/promises'
import { system } from '../../../platform/db/actor.ts'
import type { Tx } from '../../../platform/db/database.ts'
import { RowLimit } from '../../../platform/db/row-limit.ts'
import type { World } from '../../../platform/world.ts'
import { lockUnlessBusy } from '../../inboxes/lock.ts'
import { backlogs, FOLLOW_DELIVERIES } from './follow-deliveries.ts'
import { moveStatuses } from './move-statuses.ts'
import { findSliceEnd, listDeliveryEvents } from './queries.ts'

/**
 * Events of one slice. What they cost is learned, because it depends on how soon a delivery is found that decides. Of the
 * fewest each may ask for all recipients of the largest message, and they still take far less than a statement may.
 */
const EVENTS = { min: 10, max: 5_000 }
/** Between two slices, at the most; it is as long as the slice took, so that others have half of the database at least. */
const REST_MS_MAX = 250
/** Before the next slice when the inbox of this one was locked. */
const LOCKED_REST_MS = 50

const by = system(FOLLOW_DELIVERIES)

/** Takes the account in the backlog that has waited longest; answers 0 when there is none with anything to do. */
export class StatusBacklog {
  readonly #events = new RowLimit(EVENTS)

  async takeSlice(world: World, signal: AbortSignal): Promise<number> {
    const began = performance.now()
    const slice = await world.db.transact(by, tx => this.#events.learn(max => followSlice(tx, max)))
    if (slice === null) return 0
    const restMs = slice.isLocked ? LOCKED_REST_MS : Math.min(performance.now() - began, REST_MS_MAX)
    await delay(restMs, null, { signal }).catch(() => {})
    return 1
  }
}

/** Comes as far as the first event whose inbox is locked: the events of an account keep their order. */
async function followSlice(tx: Tx, eventsMax: number): Promise<{ isLocked: boolean } | null> {
  const backlog = await backlogs.claim(tx)
  if (!backlog) return null
  const { account_id: accountId, cursor: after } = backlog
  const upTo = (await findSliceEnd(tx, accountId, { after, upTo: backlog.up_to, eventsMax })) ?? backlog.up_to
  const events = await listDeliveryEvents(tx, accountId, { after, upTo })
  const busy = await lockUnlessBusy(tx, new Set(events.map(({ inbox_id }) => inbox_id)))
  const locked = events.findIndex(({ inbox_id }) => busy.has(inbox_id))
  await moveStatuses(tx, locked === -1 ? events : events.slice(0, locked))
  await backlogs.update(tx, accountId, locked === -1 ? upTo : events[locked]!.id - 1)
  return { isLocked: locked !== -1 }
}
