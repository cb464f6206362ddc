// How much one address may bring in a minute. In the memory of this process: the bound keeps a flood from taking all
// others' time, and needs no exactness.
import { networkOf } from '../../platform/net/cidr.ts'
import type { Clock } from '../../platform/clock.ts'

const WINDOW_MS = 60_000

export class ArrivalLimit {
  readonly #clock: Clock
  readonly #perMinute: number
  readonly #counts = new Map<string, number>()
  #window = 0

  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock
    this.#perMinute = perMinute
  }

  /** Counts one more from there; false when it is one too many. */
  admits(ip: string): boolean {
    const window = Math.floor(this.#clock.now().getTime() / WINDOW_MS)
    if (window !== this.#window) this.#counts.clear()
    this.#window = window
    const network = networkOf(ip)
    const count = (this.#counts.get(network) ?? 0) + 1
    this.#counts.set(network, count)
    return count <= this.#perMinute
  }
}
