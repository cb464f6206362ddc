// From the journal to the webhooks: one attempt for each event and each webhook that it matches, made by the database.
import type { RangeTail } from '../../platform/loops/loop.ts'
import { existWebhooks, insertAttempts } from './work-queries.ts'

/** The name of the tail, and so of its cursor. */
export const FAN_OUT = 'webhook-fan-out'

/** Times the webhooks of an account, this is what one statement inserts at most. */
const EVENTS_MAX = 250
/** Nobody feels it in a push, and at 2,000 events a second it saves most of the rounds. */
const REST_MS = 25
/** Where nobody has a webhook: the first event of the first one may come this much later. */
const IDLE_REST_MS = 250

export function fanOut(): RangeTail {
  let hasWebhooks = false
  let hasNews = false
  return {
    kind: 'range-tail',
    name: FAN_OUT,
    batchMax: EVENTS_MAX,
    restMs: () => (hasWebhooks ? REST_MS : IDLE_REST_MS),
    read: async (_world, tx, range) => {
      // An installation without webhooks pays for this question and no more.
      hasWebhooks = await existWebhooks(tx)
      hasNews = hasWebhooks && (await insertAttempts(tx, range)) > 0
    },
    committed: world => {
      if (hasNews) world.wakeups.hint('attempts')
    },
  }
}
