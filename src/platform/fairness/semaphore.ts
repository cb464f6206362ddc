// A number of places that owners (accounts) share: each may have a part of them, and those who wait take turns. Work of the
// service itself has no owner; it may take any place and goes first.
import { RoundRobin } from './round-robin.ts'

interface Waiting {
  owner: string | null
  begin: () => void
  hasGivenUp: boolean
}

interface SemaphoreOptions {
  places: number
  perOwner: number
  waitMsMax: number
}

export class Semaphore {
  readonly #options: SemaphoreOptions
  #taken = 0
  readonly #takenBy = new Map<string, number>()
  readonly #ownWork = new RoundRobin<Waiting>()
  /** In the order of their turns: the first is looked at first, and goes to the end when it was served. */
  readonly #waiting = new Map<string, RoundRobin<Waiting>>()

  constructor(options: SemaphoreOptions) {
    this.#options = options
  }

  /**
   * Null when there is a place at once, which is the common case; otherwise a promise of one, which is rejected with what
   * `onTimeout` makes when none comes in time.
   */
  enter(owner: string | null, onTimeout: () => Error): Promise<void> | null {
    if (this.#mayEnter(owner)) {
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
      this.#queueOf(owner).push(waiting, [])
    })
  }

  /** Acts in a place of the owner's, when there is one. */
  async run<T>(owner: string | null, onTimeout: () => Error, act: () => Promise<T>): Promise<T> {
    await this.enter(owner, onTimeout)
    try {
      return await act()
    } finally {
      this.leave(owner)
    }
  }

  leave(owner: string | null): void {
    this.#taken -= 1
    if (owner !== null) {
      const left = this.#takenBy.get(owner)! - 1
      if (left > 0) this.#takenBy.set(owner, left)
      else this.#takenBy.delete(owner)
    }
    for (let next = this.#next(); next; next = this.#next()) {
      this.#take(next.owner)
      next.begin()
    }
  }

  #mayEnter(owner: string | null): boolean {
    const { places, perOwner } = this.#options
    return this.#taken < places && (owner === null || (this.#takenBy.get(owner) ?? 0) < perOwner)
  }

  #take(owner: string | null): void {
    this.#taken += 1
    if (owner !== null) this.#takenBy.set(owner, (this.#takenBy.get(owner) ?? 0) + 1)
  }

  #queueOf(owner: string | null): RoundRobin<Waiting> {
    if (owner === null) return this.#ownWork
    const queue = this.#waiting.get(owner) ?? new RoundRobin<Waiting>()
    this.#waiting.set(owner, queue)
    return queue
  }

  #next(): Waiting | null {
    if (this.#taken >= this.#options.places) return null
    const own = firstThatWaits(this.#ownWork)
    if (own) return own
    for (const [owner, queue] of this.#waiting) {
      if (!this.#mayEnter(owner)) continue
      const next = firstThatWaits(queue)
      this.#waiting.delete(owner)
      if (queue.length > 0) this.#waiting.set(owner, queue)
      if (next) return next
    }
    return null
  }
}

function firstThatWaits(queue: RoundRobin<Waiting>): Waiting | null {
  for (let next = queue.take(); next; next = queue.take()) if (!next.hasGivenUp) return next
  return null
}
