// What is removed: attempts that were delivered or given up, after a while, and what deleted webhooks left behind. In
// bounded batches, each a transaction, so that nobody waits for it and a kill loses nothing.
import { system } from '../../platform/db/actor.ts'
import { inBatches } from '../../platform/work/in-batches.ts'
import type { World } from '../../platform/world.ts'
import { deleteAttemptsOf, deleteDecided, deleteLeaving, listLeavings } from './attempt-queries.ts'

const BATCH = 2_000
const DAY_MS = 86_400_000
const KEPT_MS = { delivered: 7 * DAY_MS, dead: 30 * DAY_MS } as const

const by = system('webhook-retention')

/** One pass; answers how many attempts were removed. */
export async function removeOldAttempts(world: World, signal: AbortSignal): Promise<number> {
  let removed = 0
  for (const status of ['delivered', 'dead'] as const) {
    const before = new Date(world.clock.now().getTime() - KEPT_MS[status])
    removed += await inBatches(signal, BATCH, () =>
      world.db.transact(by, tx => deleteDecided(tx, { status, before, limit: BATCH })),
    )
  }
  for (const { webhook_id: webhookId } of await listLeavings(world.db, BATCH)) {
    removed += await inBatches(signal, BATCH, () => world.db.transact(by, tx => deleteAttemptsOf(tx, webhookId, BATCH)))
    if (!signal.aborted) await world.db.transact(by, tx => deleteLeaving(tx, webhookId))
  }
  return removed
}
