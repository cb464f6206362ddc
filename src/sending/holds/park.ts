// Parking: what waited in the queue when a pause came is marked held, in batches behind the answer. The gate stops the
// mail from the first moment on; parking makes the queue say so. A walk that a kill ends is begun again.
import { countHolds } from '../../control/suspensions/holds.ts'
import { scopeName, type PauseScope } from '../../control/suspensions/scopes.ts'
import { lockWhileActive, noteParked, toPark, type Unfinished } from '../../control/suspensions/unfinished.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { Mutex } from '../../platform/fairness/mutex.ts'
import type { World } from '../../platform/world.ts'
import {
  findStretchEnd,
  insertStragglers,
  parkStretch,
  type HeldRow,
  type QueuePosition,
  type Stretch,
  type Walk,
} from '../queue/held.ts'
import { InTurns } from './lanes.ts'

/** One batch holds the journal's lock while its events are appended: small enough that nobody notices the wait. */
const BATCH_MAX = 2_000

const turns = new InTurns<Unfinished, Stretches>()

export const parkNext = (world: World, signal: AbortSignal): Promise<number> =>
  turns.next(
    {
      list: () => toPark(world.db),
      begin: pause => new Stretches(pause),
      batch: (pause, stretches) => parkBatch(world, pause, stretches),
      end: async pause => {
        await world.db.transact(system('parking'), tx => noteParked(tx, pause.id))
        return true
      },
    },
    signal,
  )

const parkBatch = (world: World, pause: Unfinished, stretches: Stretches): Promise<boolean> =>
  // A crash of the database may undo the last batches; the walk is then begun again, for its end is not yet noted.
  world.db.transactLightly(system('parking'), async tx => {
    if (!(await lockWhileActive(tx, pause.id))) return false
    const stretch = await stretches.next(tx)
    if (!stretch) return false
    const held = await parkStretch(tx, pause, stretch)
    noteHeld(tx, pause, held)
    if (held.length < stretch.count) insertStragglers(tx, pause, stretch)
    return true
  })

/** Says of each that it is held, and counts them. */
export function noteHeld(tx: Tx, pause: PauseScope & { account_id: string }, held: readonly HeldRow[]): void {
  const data = { suspension_id: pause.id, scope: scopeName(pause) }
  const { account_id: accountId } = pause
  for (const { message_id: messageId, recipient, tenant_id: tenantId } of held) {
    tx.record({ type: 'held', accountId, tenantId, messageId, recipient, data })
  }
  countHolds(tx, pause.id, held.length)
}

/** The account's or tenant's queue, stretch by stretch. Lanes that ask at once get neighbouring ones. */
class Stretches {
  readonly #walk: Omit<Walk, 'after'>
  readonly #mutex = new Mutex()
  #after: QueuePosition | null = null
  #isOver = false

  constructor({ account_id: accountId, tenant_id, scope_type: type }: Unfinished) {
    // A domain is registered by one tenant, and others of the account may have mail from it in the queue.
    const tenantId = type === 'domain' || type === 'sender' ? null : tenant_id
    this.#walk = { accountId, tenantId, limit: BATCH_MAX }
  }

  next(tx: Tx): Promise<(Stretch & { count: number }) | null> {
    return this.#mutex.run(async () => {
      if (this.#isOver) return null
      const walk = { ...this.#walk, after: this.#after }
      const end = await findStretchEnd(tx, walk)
      this.#isOver = end === null || end.is_last
      if (!end) return null
      this.#after = end
      return { walk, end, count: end.count }
    })
  }
}
