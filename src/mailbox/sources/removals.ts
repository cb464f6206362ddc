// Removing sources whose last message is gone, and whose mail has left. A transaction that removes messages queues their
// sources; a worker looks at each later, because another transaction may be removing the last but one at the same time, or
// filing another.
import { system } from '../../platform/db/actor.ts'
import type { World } from '../../platform/world.ts'
import { queuedAmong } from '../../sending/queue/queued.ts'
import {
  claimDueRemovals,
  deleteRemovals,
  deleteUnnamedSources,
  lockAccountsNotOnHold,
  updateRemovalsDue,
} from './queries.ts'

/** A source may be 40 MB, but its bytes are not read to remove it. */
const BATCH_MAX = 100
/** Under legal hold, or while its mail is still to be sent: how long until it is looked at again. */
const HOLD_MS = 3_600_000

export { insertSourceRemovals as queueSourceRemovals } from './queries.ts'

/** One batch; answers how many were looked at. */
export const removeSources = (world: World): Promise<number> =>
  world.db.transact(system('source removal'), async tx => {
    const due = await claimDueRemovals(tx, BATCH_MAX)
    if (due.length === 0) return 0
    const free = await lockAccountsNotOnHold(tx, [...new Set(due.map(each => each.account_id))])
    const queued = await queuedAmong(
      tx,
      due.map(each => each.source_id),
    )
    const isFree = ({ account_id, source_id }: (typeof due)[number]): boolean =>
      free.has(account_id) && !queued.has(source_id)
    const done = due.filter(isFree)
    const waiting = due.filter(each => !isFree(each))
    if (waiting.length > 0) await updateRemovalsDue(tx, waiting, new Date(tx.now.getTime() + HOLD_MS))
    if (done.length > 0) {
      await deleteUnnamedSources(tx, done)
      await deleteRemovals(tx, done)
    }
    return due.length
  })
