// Acknowledging an alert: somebody has seen it. The guardian may then say it again, should it go on.
import type { Actor } from '../../platform/db/actor.ts'
import type { Reach } from '../../platform/principal.ts'
import { notFound } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { findAlertForUpdate, updateAlertAcked } from './queries.ts'

export function ackAlert(world: World, by: Actor, reach: Reach, id: string): Promise<void> {
  return world.db.transact(by, async tx => {
    const alert = await findAlertForUpdate(tx, reach, id)
    if (!alert) throw notFound('alert')
    if (alert.acked_at) return
    await updateAlertAcked(tx, id, by.name)
    tx.audit({
      accountId: reach.accountId,
      tenantId: alert.tenant_id,
      target: { type: 'alert', id },
      before: { acked_at: null },
      after: { acked_at: tx.now.toISOString() },
    })
  })
}
