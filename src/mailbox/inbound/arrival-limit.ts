// How much one address may bring in a minute, over all processes. Each counts in memory and tells the others once a second
// what came from addresses that bring much, so the bound is overstepped by a second's worth at the most and an honest sender
// costs no write.
import type { Database } from '../../platform/db/database.ts'
import { system } from '../../platform/db/actor.ts'
import type { Clock } from '../../platform/clock.ts'
import { networkOf } from '../../platform/net/cidr.ts'
import { addArrivalRates } from './queries.ts'

const WINDOW_MS = 60_000
const SHARE_EVERY_MS = 1_000
/** Addresses that bring less in a minute are no concern of the other processes. */
const SHARED_MIN = 20
/** Of addresses that are told about at a time: a flood from everywhere costs bounded writes. */
const SHARED_MAX = 500
const BY = system('receiving')

interface Count {
  /** As far as it is known, ours and that of the others. */
  total: number
  /** Ours that the others do not know of. */
  untold: number
}

interface Options {
  clock: Clock
  perMinute: number
  db: Pick<Database, 'transactLightly'>
}

export class ArrivalLimit {
  readonly #options: Options
  readonly #counts = new Map<string, Count>()
  #window = 0
  #sharedAt = 0
  #isSharing = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Counts one more from there; false when it is one too many. */
  admits(ip: string): boolean {
    const now = this.#options.clock.now().getTime()
    const window = Math.floor(now / WINDOW_MS)
    if (window !== this.#window) this.#counts.clear()
    this.#window = window
    const network = networkOf(ip)
    const count = this.#counts.get(network) ?? { total: 0, untold: 0 }
    count.total += 1
    count.untold += 1
    this.#counts.set(network, count)
    if (count.total >= SHARED_MIN) void this.#share(now)
    return count.total <= this.#options.perMinute
  }

  async #share(now: number): Promise<void> {
    if (this.#isSharing || Math.abs(now - this.#sharedAt) < SHARE_EVERY_MS) return
    this.#isSharing = true
    this.#sharedAt = now
    const window = this.#window
    const told = [...this.#counts]
      .filter(([, { total, untold }]) => total >= SHARED_MIN && untold > 0)
      .slice(0, SHARED_MAX)
      .map(([network, { untold }]) => ({ network, untold }))
      .toSorted((a, b) => (a.network < b.network ? -1 : 1))
    try {
      const minute = new Date(window * WINDOW_MS)
      const totals = await this.#options.db.transactLightly(BY, tx => addArrivalRates(tx, minute, told))
      if (window === this.#window) this.#learn(told, new Map(totals.map(({ network, count }) => [network, count])))
    } catch {
      // Without the database each process keeps its own bound.
    } finally {
      this.#isSharing = false
    }
  }

  #learn(told: readonly { network: string; untold: number }[], totals: ReadonlyMap<string, number>): void {
    for (const { network, untold } of told) {
      const count = this.#counts.get(network)
      if (!count) continue
      count.untold -= untold
      count.total = (totals.get(network) ?? 0) + count.untold
    }
  }
}
