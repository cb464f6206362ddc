// From the journal to the webhooks: one attempt for each event and each webhook that it matches, made by the database.
import type { RangeTail } from '../../platform/loops/loop.ts'
import { existWebhooks, insertAttempts } from './work-queries.ts'

/** The name of the tail, and so of its cursor. */
export const FAN_OUT = 'webhook-fan-out'

const EVENTS_MAX = 250
/** A round inserts a row per event and webhook of its account. One that takes longer than this takes fewer events next. */
const ROUND_MS_GOOD = 300
/** Nobody feels it in a push, and at 2,000 events a second it saves most of the rounds. */
const REST_MS = 25
/** Where nobody has a webhook: the first event of the first one may come this much later. */
const IDLE_REST_MS = 250

export function fanOut(): RangeTail {
  let hasWebhooks = false
  let hasNews = false
  let eventsMax = EVENTS_MAX
  return {
    kind: 'range-tail',
    name: FAN_OUT,
    get batchMax() {
      return eventsMax
    },
    restMs: () => (hasWebhooks ? REST_MS : IDLE_REST_MS),
    read: async (_world, tx, range) => {
      // An installation without webhooks pays for this question and no more.
      hasWebhooks = await existWebhooks(tx)
      hasNews = false
      if (!hasWebhooks) return
      const began = performance.now()
      // Unless it ends in time: a round that was too much must be smaller when it is tried again.
      const before = eventsMax
      eventsMax = Math.max(1, Math.floor(before / 4))
      hasNews = (await insertAttempts(tx, range)) > 0
      const isQuick = performance.now() - began < ROUND_MS_GOOD
      eventsMax = isQuick ? Math.min(EVENTS_MAX, before * 2) : Math.max(1, Math.floor(before / 2))
    },
    committed: world => {
      if (hasNews) world.wakeups.hint('attempts')
    },
  }
}
