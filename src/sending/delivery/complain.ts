// A complaint reported over the API.
import { parseAddress } from '../../mail/address/address.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Reach } from '../../platform/principal.ts'
import { notFound } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { findDeliveryNumber, listDeliveriesForUpdateAnywhere } from '../queue/late-reports.ts'
import { markComplained } from './reports.ts'

interface ComplaintOrder {
  message_id: string
  recipient: string
  detail?: string
}

export function complain(
  world: World,
  by: Actor,
  reach: Reach,
  order: ComplaintOrder,
): Promise<{ recipient: string; complained: boolean }> {
  return world.db.transact(by, async tx => {
    const address = parseAddress(order.recipient)?.address ?? order.recipient
    const n = await findDeliveryNumber(tx, reach, order.message_id, address)
    if (n === null) throw notFound('message')
    const numbered = [{ message_id: order.message_id, n }]
    const [delivery] = await listDeliveriesForUpdateAnywhere(tx, { numbered, addressed: [] })
    if (!delivery) throw notFound('message')
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
