// Parking: what waited in the queue when a pause came is marked held, in batches behind the answer. The gate stops the
// mail from the first moment on; parking makes the queue say so. A walk that a kill ends is begun again.
import {
  countHolds,
  listToParkAnywhere,
  lockWhileActive,
  updateParked,
  type Unfinished,
} from '../../control/suspensions/progress.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { Mutex } from '../../platform/fairness/mutex.ts'
import type { World } from '../../platform/world.ts'
import {
  findStretchEnd,
  isAnyWaiting,
  parkStretch,
  type QueuePosition,
  type Stretch,
  type Walk,
} from '../queue/held.ts'
import { recordEvents } from './events.ts'
import { InTurns } from './lanes.ts'

/** One batch holds the journal's lock while its events are appended: small enough that nobody notices the wait. */
const BATCH_MAX = 2_000

const turns = new InTurns<Unfinished, Stretches>()

export const parkNext = (world: World, signal: AbortSignal): Promise<number> =>
  turns.next(
    {
      list: () => listToParkAnywhere(world.db),
      begin: pause => new Stretches(pause),
      batch: (pause, stretches) => parkBatch(world, pause, stretches),
      end: async pause => {
        await world.db.transact(system('parking'), tx => updateParked(tx, pause.id))
        return true
      },
    },
    signal,
  )

const parkBatch = (world: World, pause: Unfinished, stretches: Stretches): Promise<boolean> =>
  // A crash of the database may undo the last batches; the walk is then begun again, for its end is not yet noted.
  world.db.transactLightly(system('parking'), async tx => {
    if (!(await lockWhileActive(tx, pause))) return false
    const stretch = await stretches.next(tx)
    if (!stretch) return false
    const held = await parkStretch(tx, pause, stretch)
    recordEvents(tx, 'held', held, pause)
    countHolds(tx, pause.id, held.length)
    if (held.length < stretch.count && (await isAnyWaiting(tx, pause, stretch))) stretches.revisit(stretch)
    return true
  })

type Counted = Stretch & { count: number; visits: number }

/** A claim locks rows for milliseconds. What is locked for longer the pause gate holds, when it is attempted. */
const VISITS_MAX = 100

/** The account's or tenant's queue, range by range. Lanes that ask at once get neighbouring ones. */
class Stretches {
  readonly #walk: Omit<Walk, 'after'>
  readonly #mutex = new Mutex()
  readonly #unfinished: Counted[] = []
  #after: QueuePosition | null = null
  #isOver = false

  constructor({ account_id: accountId, tenant_id, scope_type: type }: Unfinished) {
    // A domain is registered by one tenant, and others of the account may have mail from it in the queue.
    const tenantId = type === 'domain' || type === 'sender' ? null : tenant_id
    this.#walk = { accountId, tenantId, limit: BATCH_MAX }
  }

  /** For a stretch in which something was locked by others. */
  revisit(stretch: Counted): void {
    if (stretch.visits < VISITS_MAX) this.#unfinished.push({ ...stretch, visits: stretch.visits + 1 })
  }

  next(tx: Tx): Promise<Counted | null> {
    return this.#mutex.run(async () => {
      if (this.#isOver) return this.#unfinished.shift() ?? null
      const walk = { ...this.#walk, after: this.#after }
      const end = await findStretchEnd(tx, walk)
      this.#isOver = end === null || end.is_last
      if (!end) return this.#unfinished.shift() ?? null
      this.#after = end
      return { walk, end, count: end.count, visits: 1 }
    })
  }
}
