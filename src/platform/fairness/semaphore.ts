// A number of permits that owners (accounts) share: each may have a part of them. Those that wait are served round robin:
// owners, and within an owner its tenants. Work of the service itself has no owner; it may have any permit and goes first.
import { confirmCaller, currentTenant } from '../owner.ts'
import { RoundRobin } from './round-robin.ts'
import { Tally } from './tally.ts'

interface Waiting {
  owner: string | null
  begin: () => void
  hasGivenUp: boolean
}

interface SemaphoreOptions {
  permits: number
  perOwner: number
  waitMsMax: number
}

export class Semaphore {
  readonly #options: SemaphoreOptions
  #taken = 0
  readonly #takenBy = new Tally()
  readonly #waiting = new RoundRobin<Waiting>()

  constructor(options: SemaphoreOptions) {
    this.#options = options
  }

  /**
   * Null when there is a permit at once, which is the common case; otherwise a promise of one, which is rejected with what
   * `onTimeout` makes when none comes in time.
   */
  acquire(owner: string | null, onTimeout: () => Error, tenant = currentTenant()): Promise<void> | null {
    if (this.#mayHave(owner)) {
      this.#take(owner)
      return null
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.hasGivenUp = true
        reject(onTimeout())
      }, this.#options.waitMsMax)
      const waiting: Waiting = {
        owner,
        hasGivenUp: false,
        begin: () => {
          clearTimeout(timer)
          resolve()
        },
      }
      this.#waiting.push(waiting, owner === null ? [] : [owner, tenant])
    })
  }

  /** A permit of the owner's, when there is one; none for a caller that may no longer act by then. */
  async acquireConfirmed(owner: string | null, onTimeout: () => Error, tenant?: string): Promise<void> {
    const wait = this.acquire(owner, onTimeout, tenant)
    if (!wait) return
    await wait
    try {
      await confirmCaller()
    } catch (refusal) {
      this.release(owner)
      throw refusal
    }
  }

  /** Acts with such a permit. */
  async run<T>(owner: string | null, onTimeout: () => Error, act: () => Promise<T>, tenant?: string): Promise<T> {
    await this.acquireConfirmed(owner, onTimeout, tenant)
    try {
      return await act()
    } finally {
      this.release(owner)
    }
  }

  release(owner: string | null): void {
    this.#taken -= 1
    if (owner !== null) this.#takenBy.add(owner, -1)
    for (let next = this.#next(); next; next = this.#next()) {
      this.#take(next.owner)
      next.begin()
    }
  }

  #mayHave(owner: string | null): boolean {
    const { permits, perOwner } = this.#options
    return this.#taken < permits && (owner === null || this.#takenBy.of(owner) < perOwner)
  }

  #take(owner: string | null): void {
    this.#taken += 1
    if (owner !== null) this.#takenBy.add(owner)
  }

  #next(): Waiting | undefined {
    if (this.#taken >= this.#options.permits) return undefined
    for (;;) {
      const next = this.#waiting.take(undefined, owner => this.#mayHave(owner))
      if (!next?.hasGivenUp) return next
    }
  }
}
