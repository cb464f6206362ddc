// Keys (destinations, accounts) that are served more slowly than work for them arrives. Their work waits in the database and
// not in the process, where it would keep everybody else's out.
import { Tally } from '../fairness/tally.ts'

/** Of a slow key this much is in flight in this process, unless said otherwise: enough to notice when it recovers. */
const SHARE = 20
const DEFER_MS_MIN = 5_000
/** As after a few retries: a key that recovers is not waited for much longer. */
const DEFER_MS_MAX = 600_000

interface SlowKey {
  since: number
  deferred: number
  served: number
}

export class Throttle {
  readonly #inFlight = new Tally()
  readonly #slow = new Map<string, SlowKey>()
  readonly #share: number

  constructor(share = SHARE) {
    this.#share = share
  }

  begin(key: string, count: number): void {
    this.#inFlight.add(key, count)
  }

  end(key: string, count: number): void {
    if (this.#inFlight.add(key, -count) < this.#share / 2) this.#slow.delete(key)
  }

  /** Work for it has waited for too long. */
  markSlow(key: string): void {
    if (!this.#slow.has(key)) this.#slow.set(key, { since: performance.now(), deferred: 0, served: 0 })
  }

  countServed(key: string, count: number): void {
    const slow = this.#slow.get(key)
    if (slow) slow.served += count
  }

  /**
   * How long work that was just claimed has to wait in the database, in milliseconds: until it can be attempted at the pace of
   * late. Null when it may go.
   */
  deferMs(key: string, count: number): number | null {
    if (!this.#slow.has(key) || this.#inFlight.of(key) < this.#share) return null
    return this.deferRefusedMs(key, count)
  }

  /** For work that was refused already: it waits whatever is in flight. */
  deferRefusedMs(key: string, count: number): number {
    const slow = this.#slow.get(key)
    if (!slow) return DEFER_MS_MIN
    slow.deferred += count
    // What is in flight counts as served: at first nothing else is known of the pace.
    const perMs = Math.max(slow.served, this.#share) / Math.max(performance.now() - slow.since, DEFER_MS_MIN)
    return Math.min(DEFER_MS_MAX, Math.max(DEFER_MS_MIN, slow.deferred / perMs))
  }

  /** How much is in flight for slow keys. */
  get size(): number {
    let size = 0
    for (const key of this.#slow.keys()) size += this.#inFlight.of(key)
    return size
  }
}
