// Retention: bodies leave first, then everything else of a message and its events, each account by its own settings.
// Legal hold stops it, and what readers of the journal have yet to read stays. Bounded batches, each a transaction, so that
// nothing waits long for it and a kill loses nothing.
import { system } from '../../platform/db/actor.ts'
import type { Db, Tx } from '../../platform/db/database.ts'
import { deleteOldEvents, type EventUse } from '../../platform/journal/forget.ts'
import type { Backlogs } from '../../platform/work/backlogs.ts'
import { inBatches } from '../../platform/work/in-batches.ts'
import { oneByOne } from '../../platform/work/one-by-one.ts'
import { findReadByAll } from '../../platform/work/tail.ts'
import type { World } from '../../platform/world.ts'
import { forgetDeliveries } from '../queue/forget.ts'
import { IDEMPOTENCY_MS } from './limits.ts'
import * as queries from './retention-queries.ts'

const BATCH = 1_000
/** Of a batch of messages: recipients are rows of their own, and a large body is thousands of pieces. */
const BATCH_MAX = { limit: BATCH, recipientsMax: 10_000, bytesMax: 256 * 1024 * 1024 }
const DAY_MS = 86_400_000

/** What readers of the journal have not done yet; they stand on higher floors. */
export interface EventReaders {
  backlogs: readonly Pick<Backlogs, 'findCursor'>[]
  /** The first event of the account that an active webhook is still to be pushed. */
  findFirstUndecided(db: Db, accountId: string): Promise<number | null>
}

/** One pass over all accounts; answers how many messages lost their body and how many went altogether. */
export async function enforceRetention(world: World, readers: EventReaders, signal: AbortSignal) {
  const done = { bodies: 0, messages: 0 }
  const by = system('retention')
  const now = world.clock.now().getTime()
  await inBatches(signal, BATCH, () =>
    world.db.transact(by, tx => queries.deleteIdempotencyKeys(tx, new Date(now - IDEMPOTENCY_MS), BATCH)),
  )
  const forget = async (accountId: string): Promise<void> => {
    // The days come with the lock of each batch: they may be raised while a pass is under way.
    const batches = (size: number, batch: (tx: Tx, before: Before) => Promise<number>): Promise<number> =>
      inBatches(signal, size, () =>
        world.db.transact(by, async tx => {
          const days = await queries.lockRetention(tx, accountId)
          return days ? batch(tx, beforeOf(now, days)) : 0
        }),
      )
    done.bodies += await batches(1, async (tx, { bodies: before }) =>
      queries.deleteBodies(tx, await queries.listOldBodies(tx, { accountId, before, ...BATCH_MAX })),
    )
    const use = await findUse(world.db, readers, accountId)
    done.messages += await batches(1, async (tx, { metadata: before }) => {
      const ids = await queries.listOldMessages(tx, { accountId, before, readUpTo: use.readUpTo, ...BATCH_MAX })
      await Promise.all([queries.deleteBodies(tx, ids), forgetDeliveries(tx, ids)])
      return queries.deleteMessages(tx, ids)
    })
    await batches(BATCH, (tx, { metadata: before }) => deleteOldEvents(tx, { accountId, before, use, limit: BATCH }))
  }
  await oneByOne(await queries.listUnheldAccountsAnywhere(world.db), forget)
  return done
}

/** What is older is over. */
interface Before {
  bodies: Date
  metadata: Date
}

const beforeOf = (now: number, days: queries.Retention): Before => ({
  bodies: new Date(now - days.body_retention_days * DAY_MS),
  metadata: new Date(now - days.metadata_retention_days * DAY_MS),
})

/** What is fanned out after the first question has events behind that answer, so its pushes are no question here. */
async function findUse(db: Db, readers: EventReaders, accountId: string): Promise<EventUse> {
  const readByAll = await findReadByAll(db)
  const cursors = await Promise.all(readers.backlogs.map(backlogs => backlogs.findCursor(db, accountId)))
  const readUpTo = cursors.reduce<number>((least, cursor) => Math.min(least, cursor ?? least), readByAll)
  return { readUpTo, undecidedFrom: await readers.findFirstUndecided(db, accountId) }
}
