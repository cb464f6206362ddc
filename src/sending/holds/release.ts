// What a resumed pause held follows behind the answer, in batches. First what other pauses keep is moved to them; then the
// rest is released into the queue, or cancelled. Each batch is one transaction with its events and its count, so that a kill
// leaves every recipient either held or not, and counted once.
import { activePauses, type ActiveSuspension } from '../../control/suspensions/active.ts'
import { coverOf, mayOverlap } from '../../control/suspensions/overlap.ts'
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
import type { Tx } from '../../platform/db/database.ts'
import { Mutex } from '../../platform/fairness/mutex.ts'
import type { World } from '../../platform/world.ts'
import { placeAfter, takePlaces } from '../messages/ranks.ts'
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
  type HeldPosition,
  type LockedRow,
} from '../queue/held.ts'
import { recordEvents } from './events.ts'
import { InTurns } from './lanes.ts'
import { requeue, stoppedBy } from './requeue.ts'

/** One batch holds the journal's lock while its events are appended: small enough that nobody notices the wait. */
const BATCH_MAX = 2_000
/** Moving has no events. Of the rows that one statement looks at, some or none are moved. */
const MOVE_BATCH_MAX = 5_000

const by = system('resuming')
const turns = new InTurns<Unfinished, HeldWalk>()

/** Answers how many pauses it worked on; one that is not done, because others work on it too, is looked at again. */
export const releaseNext = (world: World, signal: AbortSignal): Promise<number> =>
  turns.next(
    {
      list: () => listToDrainAnywhere(world.db),
      begin: pause => new HeldWalk(pause),
      batch: (_, walk) =>
        // A crash of the database may undo the last batches: they are held again then, and end the same way again.
        walk.pause.kept_by.length > 0
          ? world.db.transactLightly(by, tx => reassignBatch(tx, walk))
          : endBatch(world, walk),
      end: (_, walk) => world.db.transact(by, tx => noteEnd(tx, walk)),
    },
    signal,
  )

/** Held before, held after: no event. The account's lock keeps the keepers from being resumed until we commit. */
async function reassignBatch(tx: Tx, walk: HeldWalk): Promise<boolean> {
  const { pause } = walk
  if (!(await lockWhileUnchanged(tx, pause))) return false
  const keepers = await keepersOf(tx, pause)
  const cover = coverOf(keepers, pause)
  if (cover) return moveAll(tx, pause.id, cover.id)
  const rows = await walk.next(async (after, end) => {
    const found = await listHeldMatching(tx, { suspensionId: pause.id, after, limit: MOVE_BATCH_MAX }, keepers)
    end(found.end)
    return found.rows
  })
  if (rows === null) return false
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

async function moveAll(tx: Tx, fromId: string, toId: string): Promise<boolean> {
  const moved = await updateAllMoved(tx, { fromId, toId, limit: BATCH_MAX })
  countHolds(tx, fromId, -moved)
  countHolds(tx, toId, moved)
  return moved > 0
}

async function endBatch(world: World, walk: HeldWalk): Promise<boolean> {
  const { pause } = walk
  const page = await walk.next(async (after, end) => {
    const asked = { suspensionId: pause.id, after, limit: BATCH_MAX }
    const tenants = await listHeldByTenant(world.db, asked)
    const [last] = tenants
    end(last ?? null)
    return last && { ...asked, end: last, places: new Map(tenants.map(each => [each.tenant_id, each.count])) }
  })
  if (!page) return false
  if (pause.resume_action === 'purge') return world.db.transactLightly(by, tx => purge(tx, pause, page))
  // Before the transaction: within it that would take a second connection, while the account's lock is shared.
  const firsts = await takePlaces(world, page.places)
  const isReleased = await world.db.transactLightly(by, tx => release(tx, pause, { ...page, firsts }))
  if (isReleased) world.wakeups.hint('deliveries')
  return isReleased
}

type EndPage = HeldPage & { end: HeldPosition }

async function purge(tx: Tx, pause: Unfinished, page: EndPage): Promise<boolean> {
  if (!(await lockWhileUnchanged(tx, pause))) return false
  const rows = await lockHeldWhole(tx, page)
  if (rows.length === 0) return true
  countHolds(tx, pause.id, -rows.length)
  recordEvents(tx, 'cancelled', rows, pause)
  recordUnsent(tx, rows, 'cancelled')
  return true
}

/** Into the queue, each at the end of its tenant's line. Pauses that came after the resume may hold some of it again. */
async function release(
  tx: Tx,
  pause: Unfinished,
  { firsts, ...page }: EndPage & { firsts: ReadonlyMap<string, Date> },
): Promise<boolean> {
  const { account_id: accountId } = pause
  const [isUnchanged, active] = await Promise.all([lockWhileUnchanged(tx, pause), activePauses(tx, [accountId])])
  if (!isUnchanged) return false
  // Where no pause has a say, rows are read without what only a pause would ask: that is a tenth of the work.
  const isAsked = active.get(accountId)?.some(other => mayOverlap(pause, other)) ?? false
  const whole = isAsked ? await lockHeldWhole(tx, page) : []
  const rows = isAsked ? whole : await lockHeld(tx, page)
  if (rows.length === 0) return true
  countHolds(tx, pause.id, -rows.length)
  recordEvents(tx, 'released', rows, pause)
  updateReleased(tx, ranked(tx, rows, firsts))
  await requeue(tx, whole)
  return true
}

function ranked(
  tx: Tx,
  rows: readonly LockedRow[],
  firsts: ReadonlyMap<string, Date>,
): { place: string; rank: Date }[] {
  const taken = new Map<string, number>()
  return rows.map(({ tenant_id: tenantId, place }) => {
    const count = taken.get(tenantId) ?? 0
    taken.set(tenantId, count + 1)
    return { place, rank: placeAfter(firsts.get(tenantId) ?? tx.now, count) }
  })
}

/** Answers whether something was brought to an end: what others are still at is looked at later. */
async function noteEnd(tx: Tx, { pause }: HeldWalk): Promise<boolean> {
  if (!(await lockWhileUnchanged(tx, pause))) return false
  const isKept = pause.kept_by.length > 0
  // A walk that moves what is matched waits for the rows of others. One that moves all, or releases, skips them.
  const isPartial = isKept && !coverOf(await keepersOf(tx, pause), pause)
  if (!isPartial && (await holdsAnything(tx, pause.id))) return false
  await (isKept ? updateReassigned(tx, pause.id) : updateDrained(tx, pause.id))
  return true
}

/** What the pause holds, in order. Lanes that ask at once get neighbouring pages; rows already passed are not met again. */
class HeldWalk {
  /** As it was when the walk began: when its end has changed since, the walk is over. */
  readonly pause: Unfinished
  readonly #mutex = new Mutex()
  #after: HeldPosition | null = null
  #isOver = false

  constructor(pause: Unfinished) {
    this.pause = pause
  }

  /** `read` says where the page ends, null when it was the last one. Null when there is no page any more. */
  next<Page>(
    read: (after: HeldPosition | null, end: (position: HeldPosition | null) => void) => Promise<Page>,
  ): Promise<Page | null> {
    return this.#mutex.run(async () => {
      if (this.#isOver) return null
      return read(this.#after, position => {
        this.#isOver = position === null
        this.#after = position
      })
    })
  }
}
