// Parking: what waited in the queue when a pause came is marked held, in batches behind the answer. The pause check stops the
// mail from the first moment on; parking makes the queue say so. A scan that a kill ends is begun again.
import {
  countHolds,
  listToParkAnywhere,
  lockWhileActive,
  updateParked,
  type Unfinished,
} from '../../control/suspensions/progress.ts'
import { tenantOf } from '../../control/suspensions/overlap.ts'
import { system } from '../../platform/db/actor.ts'
import type { Db } from '../../platform/db/database.ts'
import { Mutex } from '../../platform/fairness/mutex.ts'
import type { World } from '../../platform/world.ts'
import { findRangeEnd, isAnyWaiting, parkRange, type QueuePosition, type KeyRange, type Scan } from '../queue/held.ts'
import { recordEvents } from './events.ts'
import { TimeSlices, type Run } from './time-slices.ts'

/** One batch has the journal's lock while its events are appended: small enough that nobody notices the wait. */
const BATCH_MAX = 2_000

/** A worker's run: one time slice for each pause. Scans that were cut are continued by the next run. */
export function parkInSlices(): Run {
  const slices = new TimeSlices<Unfinished, QueueScan>()
  return (world, signal) =>
    slices.next(
      {
        load: world.load,
        list: () => listToParkAnywhere(world.db),
        begin: pause => new QueueScan(pause),
        batch: (pause, scan) => parkBatch(world, pause, scan),
        end: async pause => {
          await world.db.transact(system('parking'), tx => updateParked(tx, pause.id))
          return true
        },
      },
      signal,
    )
}

/** The range is chosen before the transaction, which may be run again. */
async function parkBatch(world: World, pause: Unfinished, scan: QueueScan): Promise<boolean> {
  const range = await scan.next(world.db)
  if (!range) return false
  // A crash of the database may undo the last batches; the scan is then begun again, for its end is not yet noted.
  const parked = await world.db.transactLightly(system('parking'), async tx => {
    if (!(await lockWhileActive(tx, pause))) return 'resumed'
    const held = await parkRange(tx, pause, range)
    recordEvents(tx, 'held', held, pause)
    countHolds(tx, pause.id, held.length)
    return held.length < range.count && (await isAnyWaiting(tx, pause, range)) ? 'partly' : 'wholly'
  })
  if (parked === 'partly') scan.revisit(range)
  return parked !== 'resumed'
}

type Counted = KeyRange & { count: number; visits: number }

/** A claim locks rows for milliseconds. What is locked for longer the pause check holds, when it is attempted. */
const VISITS_MAX = 100

/** The account's or tenant's queue, range by range. Batches that ask at once get neighbouring ones. */
class QueueScan {
  readonly #scan: Omit<Scan, 'after'>
  readonly #mutex = new Mutex()
  readonly #unfinished: Counted[] = []
  #after: QueuePosition | null = null
  #isOver = false

  constructor(pause: Unfinished) {
    this.#scan = { accountId: pause.account_id, tenantId: tenantOf(pause), limit: BATCH_MAX }
  }

  /** For a range in which something was locked by others. */
  revisit(range: Counted): void {
    if (range.visits < VISITS_MAX) this.#unfinished.push({ ...range, visits: range.visits + 1 })
  }

  next(db: Db): Promise<Counted | null> {
    return this.#mutex.run(async () => {
      if (this.#isOver) return this.#unfinished.shift() ?? null
      const scan = { ...this.#scan, after: this.#after }
      const end = await findRangeEnd(db, scan)
      this.#isOver = end === null || end.is_last
      if (!end) return this.#unfinished.shift() ?? null
      this.#after = end
      return { scan, end, count: end.count, visits: 1 }
    })
  }
}
