// Work that must wait for somebody's lock, taken out of the batch that all share: for a tenant's counters, which another
// transaction has that stores ten thousand recipients, or for an account, which is being paused. What waits for one lock
// has a batch of its own, so that others do not wait with it.
import { Batcher, type BatcherOptions } from './batcher.ts'
import { unavailable } from './db/errors.ts'
import { Semaphore } from './fairness/semaphore.ts'

/** A waiting batch keeps a connection: few of all, and no account takes more than half of these. */
const WAITING_MAX = 4
const WAITING_PER_ACCOUNT_MAX = 2
/** As long as for a connection. */
const WAIT_MS_MAX = 5_000

interface ContendedOptions<Item, Result> extends Pick<
  BatcherOptions<Item, Result>,
  'run' | 'itemsMax' | 'weightMax' | 'weightOf'
> {
  /** What names the lock. */
  keyOf: (item: Item) => string
}

interface OwnBatcher<Item, Result> {
  batcher: Batcher<Item, Result>
  pending: number
}

export class Contended<Item extends { accountId: string }, Result> {
  readonly #options: ContendedOptions<Item, Result>
  readonly #byKey = new Map<string, OwnBatcher<Item, Result>>()
  readonly #semaphore = new Semaphore({
    permits: WAITING_MAX,
    perOwner: WAITING_PER_ACCOUNT_MAX,
    waitMsMax: WAIT_MS_MAX,
  })

  constructor(options: ContendedOptions<Item, Result>) {
    this.#options = options
  }

  async submit(item: Item): Promise<Result> {
    const key = this.#options.keyOf(item)
    const own = this.#byKey.get(key) ?? this.#open(key, item.accountId)
    own.pending += 1
    try {
      return await own.batcher.submit(item)
    } finally {
      own.pending -= 1
      if (own.pending === 0) this.#byKey.delete(key)
    }
  }

  #open(key: string, accountId: string): OwnBatcher<Item, Result> {
    const run = (items: Item[]): Promise<Result[]> =>
      this.#semaphore.run(accountId, lockedTooLong, () => this.#options.run(items))
    const own = { batcher: new Batcher<Item, Result>({ ...this.#options, run, slots: 1 }), pending: 0 }
    this.#byKey.set(key, own)
    return own
  }
}

const lockedTooLong = (): Error => unavailable(new Error('an account or a tenant was locked too long'))
