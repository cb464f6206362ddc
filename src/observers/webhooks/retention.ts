// What is removed: attempts that were delivered or given up, after a while and unless the account is under legal hold, and
// what deleted webhooks left behind. In bounded batches, each a transaction, so that nobody waits for it and a kill loses
// nothing.
import { system } from '../../platform/db/actor.ts'
import { inBatches } from '../../platform/work/in-batches.ts'
import { RetentionScan } from '../../platform/work/retention-scan.ts'
import type { World } from '../../platform/world.ts'
import { deleteAttemptsOf, deleteDecided, deleteLeaving, listLeavings, type DecidedKey } from './attempt-queries.ts'

const BATCH = 2_000
const DAY_MS = 86_400_000
const KEPT_MS = { delivered: 7 * DAY_MS, dead: 30 * DAY_MS } as const

const by = system('webhook-retention')

export class AttemptRetention {
  readonly #scans = { delivered: new RetentionScan<DecidedKey>(), dead: new RetentionScan<DecidedKey>() }

  /** One pass; answers how many attempts were removed. */
  async removeOld(world: World, signal: AbortSignal): Promise<number> {
    let removed = 0
    const now = world.clock.now()
    for (const status of ['delivered', 'dead'] as const) {
      const before = new Date(now.getTime() - KEPT_MS[status])
      removed += await this.#scans[status].run({ now, size: BATCH, signal }, after =>
        world.db.transact(by, tx => deleteDecided(tx, { status, before, after, limit: BATCH })),
      )
    }
    for (const { webhook_id: webhookId } of await listLeavings(world.db, BATCH)) {
      removed += await inBatches(signal, BATCH, () =>
        world.db.transact(by, tx => deleteAttemptsOf(tx, webhookId, BATCH)),
      )
      if (!signal.aborted) await world.db.transact(by, tx => deleteLeaving(tx, webhookId))
    }
    return removed
  }
}
