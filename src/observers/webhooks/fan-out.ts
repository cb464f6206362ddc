// From the journal to the webhooks: one attempt for each event and each webhook that it matches, made by the database.
import type { RangeTail } from '../../platform/loops/loop.ts'
import { existWebhooks, insertAttempts } from './work-queries.ts'

/** The name of the tail, and so of its cursor. */
export const FAN_OUT = 'webhook-fan-out'

/** Times the webhooks of an account, this is what one statement inserts at most. */
const EVENTS_MAX = 250

export function fanOut(): RangeTail {
  let hasNews = false
  return {
    kind: 'range-tail',
    name: FAN_OUT,
    batchMax: EVENTS_MAX,
    read: async (_world, tx, range) => {
      // An installation without webhooks pays for this question and no more.
      hasNews = (await existWebhooks(tx)) && (await insertAttempts(tx, range)) > 0
    },
    committed: world => {
      if (hasNews) world.wakeups.hint('attempts')
    },
  }
}
