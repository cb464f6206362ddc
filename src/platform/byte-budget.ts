// A budget of bytes for things that are large while they last, such as message sources. A caller that finds it used up
// waits; nobody is refused, and memory stays bounded. Owners (accounts) take turns, and one owner has at most half.
import { FairQueue } from './fair-queue.ts'

interface Waiting {
  bytes: number
  begin: () => void
}

export class ByteBudget {
  readonly #bytesMax: number
  #used = 0
  readonly #usedBy = new Map<string, number>()
  /** In the order of their turns: the first is looked at first, and goes to the end when it was served. */
  readonly #waiting = new Map<string, FairQueue<Waiting>>()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Answers when there is room, with the function that gives it back. One that is larger than all goes alone. */
  async acquire(bytes: number, owner: string): Promise<() => void> {
    const wanted = Math.min(bytes, this.#bytesMax)
    if (!this.#waiting.has(owner) && this.#fits(wanted, owner)) this.#take(wanted, owner)
    else await new Promise<void>(begin => this.#enqueue({ bytes: wanted, begin }, owner))
    let isReserved = true
    return () => {
      if (!isReserved) return
      isReserved = false
      this.#giveBack(wanted, owner)
      this.#admit()
    }
  }

  /** The first thing of an owner may take more than half, or it could never begin. */
  #fits(bytes: number, owner: string): boolean {
    const own = this.#usedBy.get(owner) ?? 0
    return this.#used + bytes <= this.#bytesMax && (own === 0 || own + bytes <= this.#bytesMax / 2)
  }

  #enqueue(waiting: Waiting, owner: string): void {
    const queue = this.#waiting.get(owner) ?? new FairQueue<Waiting>()
    queue.push(waiting, [])
    this.#waiting.set(owner, queue)
  }

  #take(bytes: number, owner: string): void {
    this.#used += bytes
    this.#usedBy.set(owner, (this.#usedBy.get(owner) ?? 0) + bytes)
  }

  #giveBack(bytes: number, owner: string): void {
    this.#used -= bytes
    const left = this.#usedBy.get(owner)! - bytes
    if (left > 0) this.#usedBy.set(owner, left)
    else this.#usedBy.delete(owner)
  }

  #admit(): void {
    for (let next = this.#next(); next; next = this.#next()) next.begin()
  }

  /**
   * The first in turn whose share and whose bytes fit. One that waits only because the budget is full keeps those behind
   * it from overtaking for ever: it is served before any that is larger than what is free.
   */
  #next(): Waiting | null {
    for (const [owner, queue] of this.#waiting) {
      const next = queue.take(({ bytes }) => this.#fits(bytes, owner))
      if (!next) continue
      this.#take(next.bytes, owner)
      this.#waiting.delete(owner)
      if (queue.length > 0) this.#waiting.set(owner, queue)
      return next
    }
    return null
  }
}
