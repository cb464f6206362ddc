// What a resumed pause held follows behind the answer, in batches. First what other pauses keep is moved to them; then the
// rest is released into the queue, or cancelled. Each batch is one transaction with its events and its count, so that a kill
// leaves every recipient either held or not, and counted once.
import { activePauses, type ActiveSuspension } from '../../control/suspensions/active.ts'
import { coverOf, mayOverlap, tenantOf } from '../../control/suspensions/overlap.ts'
import {
  countHeld,
  countHolds,
  listToDrainAnywhere,
  lockWhileUnchanged,
  updateDrained,
  updateReassigned,
  type Unfinished,
} from '../../control/suspensions/progress.ts'
import { system } from '../../platform/db/actor.ts'
import type { Db, Tx } from '../../platform/db/database.ts'
import { Mutex } from '../../platform/fairness/mutex.ts'
import type { World } from '../../platform/world.ts'
import { rankAfter, reserveRanks } from '../messages/ranks.ts'
import {
  holdsAnything,
  listHeldByTenant,
  listHeldMatching,
  lockHeld,
  lockHeldWhole,
  recordUnsent,
  updateAllMoved,
  updateMoved,
  updateReleased,
  type HeldPage,
  type LockedRow,
} from '../queue/held.ts'
import type { DeliveryKey } from '../queue/keys.ts'
import { recordEvents } from './events.ts'
import { TimeSlices, type Run } from './time-slices.ts'
import { requeue, stoppedBy } from './requeue.ts'

/** One batch has the journal's lock while its events are appended: small enough that nobody notices the wait. */
const BATCH_MAX = 2_000
/** Moving has no events, and a row that is moved is held before and after. */
const MOVE_BATCH_MAX = 5_000

const by = system('resuming')

/**
 * A worker's run: one time slice for each pause. It answers how many pauses it worked on; one that is not done, because
 * others work on it too, is looked at again.
 */
export function releaseInSlices(): Run {
  const slices = new TimeSlices<Unfinished, HeldScan>()
  return (world, signal) =>
    slices.next(
      {
        load: world.load,
        list: () => listToDrainAnywhere(world.db),
        begin: pause => new HeldScan(pause),
        batch: (_, scan) => nextBatch(world, scan),
        end: (_, scan) => world.db.transact(by, tx => noteEnd(tx, scan)),
      },
      signal,
    )
}

/** A crash of the database may undo the last batches: they are held again then, and end the same way again. */
async function nextBatch(world: World, scan: HeldScan): Promise<boolean> {
  const { pause } = scan
  if (pause.kept_by.length > 0) {
    // Chosen once: the transaction may be run again, and must not pass over rows that its first run had chosen.
    let page: Promise<HeldPage | null> | undefined
    return world.db.transactLightly(by, tx => reassign(tx, pause, () => (page ??= scan.next(tx, MOVE_BATCH_MAX))))
  }
  if (pause.resume_action === 'purge') return world.db.transactLightly(by, tx => purge(tx, scan))
  // Before the transaction: within it that would take a second connection, while the account's lock is shared.
  const firsts = await reserveRanks(world, await ranksFor(world, scan))
  const isReleased = await world.db.transactLightly(by, tx => release(tx, scan, firsts))
  if (isReleased) world.wakeups.hint('deliveries')
  return isReleased
}

/** A batch of one tenant reserves as many ranks as it may need; ranks that are not used do no harm. */
async function ranksFor(world: World, scan: HeldScan): Promise<ReadonlyMap<string, number>> {
  const tenantId = tenantOf(scan.pause)
  if (tenantId !== null) return new Map([[tenantId, BATCH_MAX]])
  const tenants = await scan.tenantsAhead(world.db)
  // Batches that run at once may get each other's rows.
  return new Map(tenants.map(each => [each.tenant_id, Math.min(each.count, BATCH_MAX)]))
}

/** Held before, held after: no event. The account's lock keeps the keepers from being resumed until we commit. */
async function reassign(tx: Tx, pause: Unfinished, choose: () => Promise<HeldPage | null>): Promise<boolean> {
  if (!(await lockWhileUnchanged(tx, pause))) return false
  const keepers = await keepersOf(tx, pause)
  const cover = coverOf(keepers, pause)
  if (cover) {
    const moved = await updateAllMoved(tx, { fromId: pause.id, toId: cover.id, limit: MOVE_BATCH_MAX })
    countHolds(tx, pause.id, -moved)
    countHolds(tx, cover.id, moved)
    return moved > 0
  }
  const page = await choose()
  if (!page) return false
  const rows = await listHeldMatching(tx, page, keepers)
  const stopped = await stoppedBy(tx, rows, new Map([[pause.account_id, keepers]]))
  const moves = [...stopped].map(([row, keeper]) => ({ ...row, suspension_id: keeper.id }))
  const takers = moves.length > 0 ? await updateMoved(tx, pause.id, moves) : []
  countHolds(tx, pause.id, -takers.length)
  countHeld(tx, takers)
  return true
}

async function keepersOf(tx: Tx, { account_id: accountId, kept_by: ids }: Unfinished): Promise<ActiveSuspension[]> {
  const active = (await activePauses(tx, [accountId])).get(accountId) ?? []
  return active.filter(pause => ids.includes(pause.id))
}

async function purge(tx: Tx, scan: HeldScan): Promise<boolean> {
  const { pause } = scan
  if (!(await lockWhileUnchanged(tx, pause))) return false
  const rows = await scan.lock(tx, lockHeldWhole)
  if (rows.length === 0) return false
  countHolds(tx, pause.id, -rows.length)
  recordEvents(tx, 'cancelled', rows, pause)
  recordUnsent(tx, rows, 'cancelled')
  return true
}

/** Into the queue, each at the end of its tenant's line. Pauses that came after the resume may hold some of it again. */
async function release(tx: Tx, scan: HeldScan, firsts: ReadonlyMap<string, Date>): Promise<boolean> {
  const { pause } = scan
  const { account_id: accountId } = pause
  const [isUnchanged, active] = await Promise.all([lockWhileUnchanged(tx, pause), activePauses(tx, [accountId])])
  if (!isUnchanged) return false
  // Where no pause has a say, rows are read without what only a pause would ask: that is a tenth of the work.
  const isAsked = active.get(accountId)?.some(other => mayOverlap(pause, other)) ?? false
  const whole = isAsked ? await scan.lock(tx, lockHeldWhole) : []
  const rows = isAsked ? whole : await scan.lock(tx, lockHeld)
  if (rows.length === 0) return false
  countHolds(tx, pause.id, -rows.length)
  recordEvents(tx, 'released', rows, pause)
  updateReleased(tx, ranked(tx, rows, firsts))
  await requeue(tx, whole)
  return true
}

function ranked(tx: Tx, rows: readonly LockedRow[], firsts: ReadonlyMap<string, Date>) {
  const taken = new Map<string, number>()
  return rows.map(({ tenant_id: tenantId, row_id }) => {
    const count = taken.get(tenantId) ?? 0
    taken.set(tenantId, count + 1)
    return { row_id, rank: rankAfter(firsts.get(tenantId) ?? tx.now, count) }
  })
}

/** Answers whether something was brought to an end: what others are still at is looked at later. */
async function noteEnd(tx: Tx, { pause, isOver }: HeldScan): Promise<boolean> {
  if (!(await lockWhileUnchanged(tx, pause))) return false
  const isKept = pause.kept_by.length > 0
  // A scan that moves what is matched waits for the rows of others. One that moves all, or releases, skips them.
  const isPartial = isKept && !coverOf(await keepersOf(tx, pause), pause)
  if (isPartial ? !isOver : await holdsAnything(tx, pause.id)) return false
  await (isKept ? updateReassigned(tx, pause.id) : updateDrained(tx, pause.id))
  return true
}

/** What the pause holds, in order. Batches that ask at once get neighbouring pages; rows already passed are not met again. */
class HeldScan {
  /** As it was when the scan began: when its end has changed since, the scan is over. */
  readonly pause: Unfinished
  readonly #mutex = new Mutex()
  #after: DeliveryKey | null = null
  isOver = false

  constructor(pause: Unfinished) {
    this.pause = pause
  }

  next(db: Db, limit: number): Promise<HeldPage | null> {
    return this.#mutex.run(async () => {
      const asked = { suspensionId: this.pause.id, after: this.#after, limit }
      const [end] = await listHeldByTenant(db, asked)
      this.isOver = end === undefined
      if (!end) return null
      this.#after = end
      return { ...asked, end }
    })
  }

  /** The next rows, locked. What a transaction that is run again passes over, the next scan meets. */
  lock<Row extends LockedRow>(tx: Tx, lock: (tx: Tx, page: HeldPage) => Promise<Row[]>): Promise<Row[]> {
    return this.#mutex.run(async () => {
      const rows = await lock(tx, { suspensionId: this.pause.id, after: this.#after, end: null, limit: BATCH_MAX })
      this.#after = rows.at(-1) ?? this.#after
      return rows
    })
  }

  /** Whose rows the next batches meet. */
  tenantsAhead(db: Db): Promise<{ tenant_id: string; count: number }[]> {
    return listHeldByTenant(db, { suspensionId: this.pause.id, after: this.#after, limit: 2 * BATCH_MAX })
  }
}
