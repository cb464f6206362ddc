// Remembers for a short while what did not work, so that the next message tries something else first.
import type { Clock } from '../../platform/clock.ts'

/** Long enough to spare a burst of messages the same time-out, short enough not to miss a restart. */
const PENALTY_MS = 60_000
const ENTRIES_MAX = 10_000

export class Penalties {
  readonly #clock: Clock
  readonly #until = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(key: string): void {
    if (this.#until.size >= ENTRIES_MAX) this.#until.clear()
    this.#until.set(key, this.#clock.now().getTime() + PENALTY_MS)
  }

  has(key: string): boolean {
    const until = this.#until.get(key)
    if (until === undefined) return false
    if (until > this.#clock.now().getTime()) return true
    this.#until.delete(key)
    return false
  }
}
