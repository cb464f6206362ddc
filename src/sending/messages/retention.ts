// Retention: bodies leave first, then everything else of a message and its events, each account by its own settings.
// Legal hold stops it. Bounded batches, each a transaction, so that nothing waits long for it and a kill loses
// nothing.
import { lockUnlessOnHold } from '../../identity/accounts/legal-hold.ts'
import { system } from '../../platform/db/actor.ts'
import { deleteOldEvents } from '../../platform/journal/forget.ts'
import { inBatches } from '../../platform/work/in-batches.ts'
import type { World } from '../../platform/world.ts'
import { forgetDeliveries } from '../queue/forget.ts'
import { IDEMPOTENCY_MS } from './limits.ts'
import * as queries from './retention-queries.ts'

const BATCH = 1_000
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
  for (const {
    account_id: accountId,
    body_retention_days,
    metadata_retention_days,
  } of await queries.listRetentionAnywhere(world.db)) {
    const before = new Date(now - metadata_retention_days * DAY_MS)
    done.bodies += await inBatches(signal, BATCH, () =>
      world.db.transact(by, async tx => {
        if (!(await lockUnlessOnHold(tx, accountId))) return 0
        const bodiesBefore = new Date(now - body_retention_days * DAY_MS)
        const old = await queries.listOldBodies(tx, { accountId, before: bodiesBefore, limit: BATCH })
        return queries.deleteBodies(
          tx,
          old.map(message => message.id),
        )
      }),
    )
    done.messages += await inBatches(signal, BATCH, () =>
      world.db.transact(by, async tx => {
        if (!(await lockUnlessOnHold(tx, accountId))) return 0
        const old = await queries.listOldMessages(tx, { accountId, before, limit: BATCH })
        const ids = old.map(message => message.id)
        await Promise.all([queries.deleteBodies(tx, ids), forgetDeliveries(tx, ids)])
        return queries.deleteMessages(tx, ids)
      }),
    )
    await inBatches(signal, BATCH, () =>
      world.db.transact(by, async tx => {
        if (!(await lockUnlessOnHold(tx, accountId))) return 0
        return deleteOldEvents(tx, { accountId, before, limit: BATCH })
      }),
    )
  }
  return done
}
