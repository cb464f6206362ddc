// Queueing again what failed or died.
import type { Actor } from '../../platform/db/actor.ts'
import type { World } from '../../platform/world.ts'
import { requeueAttempts } from './attempt-queries.ts'
import type { Named } from './change.ts'
import { requireWebhookForUpdate } from './queries.ts'
import { updateDueNow } from './work-queries.ts'

/** Per statement, which has ten seconds; the whole replay is one transaction all the same. */
const BATCH = 20_000

/** Answers how many attempts were queued. */
export async function replay(world: World, by: Actor, { reach, id }: Named, since: Date | null): Promise<number> {
  const requeued = await world.db.transact(by, async tx => {
    const webhook = await requireWebhookForUpdate(tx, reach, id)
    let total = 0
    for (let count = BATCH; count === BATCH; total += count) {
      count = await requeueAttempts(tx, id, { since, limit: BATCH })
    }
    if (total > 0) await updateDueNow(tx, id)
    tx.audit({
      accountId: reach.accountId,
      tenantId: webhook.tenant_id,
      target: { type: 'webhook', id },
      after: { requeued: total, since: since?.toISOString() ?? null },
    })
    return total
  })
  if (requeued > 0) world.wakeups.hint('attempts')
  return requeued
}
