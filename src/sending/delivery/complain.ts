// A complaint reported over the API.
import { setTimeout as delay } from 'node:timers/promises'
import { parseAddress } from '../../mail/address/address.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Reach } from '../../platform/principal.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { findDeliveryNumber, isAnyBeingSent, listDeliveriesForUpdateAnywhere } from '../queue/late-reports.ts'
import { markComplained } from './reports.ts'

interface ComplaintOrder {
  message_id: string
  recipient: string
  detail?: string
}

interface Reported {
  recipient: string
  complained: boolean
}

/** How long a caller waits for the outcome of a delivery, and how often we look for it. */
const OUTCOME_MS_MAX = 2_000
const LOOK_MS = 200

/**
 * A receiver can be faster than our own record of the delivery. Taken then, its complaint would be one about mail that was
 * never delivered. So the caller waits a moment, and then is asked to come again.
 */
export async function complain(world: World, by: Actor, reach: Reach, order: ComplaintOrder): Promise<Reported> {
  for (let waitedMs = 0; waitedMs <= OUTCOME_MS_MAX; waitedMs += LOOK_MS) {
    if (waitedMs > 0) await delay(LOOK_MS)
    const reported = await complainNow(world, by, reach, order)
    if (reported) return reported
  }
  throw refuse('unavailable', 'This mail is being sent, and its outcome is not recorded yet.', {
    retryAfterSeconds: 10,
  })
}

/** Null: it is being sent. */
function complainNow(world: World, by: Actor, reach: Reach, order: ComplaintOrder): Promise<Reported | null> {
  return world.db.transact(by, async tx => {
    const address = parseAddress(order.recipient)?.address ?? order.recipient
    const n = await findDeliveryNumber(tx, reach, order.message_id, address)
    if (n === null) throw notFound('message')
    const numbered = [{ message_id: order.message_id, n }]
    const [delivery] = await listDeliveriesForUpdateAnywhere(tx, { numbered, addressed: [] })
    if (!delivery) throw notFound('message')
    if (delivery.status === 'open' && (await isAnyBeingSent(tx, [delivery]))) return null
    // A tenant's word weighs for others only where a mail was delivered that could be complained about.
    const isOfAccount = reach.tenantId === null
    const { complained, isNews } = await markComplained(tx, delivery, order.detail ?? null, { isOfAccount })
    if (isNews) {
      tx.audit({
        accountId: delivery.account_id,
        tenantId: delivery.tenant_id,
        target: { type: 'message', id: delivery.message_id },
        after: { recipient: delivery.recipient, complained },
      })
    }
    return { recipient: delivery.recipient, complained }
  })
}
