// Retention: bodies leave first, then everything else of a message and its events, each account by its own settings.
// Legal hold stops it. Bounded batches, each a transaction, so that nothing waits long for it and a kill loses
// nothing.
import { lockUnlessOnHold } from '../../identity/accounts/legal-hold.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { deleteOldEvents } from '../../platform/journal/forget.ts'
import { inBatches } from '../../platform/work/in-batches.ts'
import { oneByOne } from '../../platform/work/one-by-one.ts'
import type { World } from '../../platform/world.ts'
import { forgetDeliveries } from '../queue/forget.ts'
import { IDEMPOTENCY_MS } from './limits.ts'
import * as queries from './retention-queries.ts'

const BATCH = 1_000
/** Of a batch of messages: recipients are rows of their own, and a large body is thousands of pieces. */
const BATCH_MAX = { limit: BATCH, recipientsMax: 10_000, bytesMax: 256 * 1024 * 1024 }
const DAY_MS = 86_400_000

/** One pass over all accounts; answers how many messages lost their body and how many went altogether. */
export async function enforceRetention(
  world: World,
  signal: AbortSignal,
): Promise<{ bodies: number; messages: number }> {
  const done = { bodies: 0, messages: 0 }
  const by = system('retention')
  const now = world.clock.now().getTime()
  await inBatches(signal, BATCH, () =>
    world.db.transact(by, tx => queries.deleteIdempotencyKeys(tx, new Date(now - IDEMPOTENCY_MS), BATCH)),
  )
  const forget = async ({ account_id: accountId, ...days }: queries.Retention): Promise<void> => {
    const bodiesBefore = new Date(now - days.body_retention_days * DAY_MS)
    const before = new Date(now - days.metadata_retention_days * DAY_MS)
    const batches = (size: number, batch: (tx: Tx) => Promise<number>): Promise<number> =>
      inBatches(signal, size, () =>
        world.db.transact(by, async tx => ((await lockUnlessOnHold(tx, accountId)) ? batch(tx) : 0)),
      )
    done.bodies += await batches(1, async tx =>
      queries.deleteBodies(tx, await queries.listOldBodies(tx, { accountId, before: bodiesBefore, ...BATCH_MAX })),
    )
    done.messages += await batches(1, async tx => {
      const ids = await queries.listOldMessages(tx, { accountId, before, ...BATCH_MAX })
      await Promise.all([queries.deleteBodies(tx, ids), forgetDeliveries(tx, ids)])
      return queries.deleteMessages(tx, ids)
    })
    await batches(BATCH, tx => deleteOldEvents(tx, { accountId, before, limit: BATCH }))
  }
  await oneByOne(await queries.listRetentionAnywhere(world.db), forget)
  return done
}
