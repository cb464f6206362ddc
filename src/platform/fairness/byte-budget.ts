// A budget of bytes for things that are large while they last, such as message sources. A caller that finds it used up
// waits or comes back later; memory stays bounded. Owners (accounts) are served round robin, and one owner has at most half.
import { Tally } from './tally.ts'

interface Waiting {
  bytes: number
  /** How much has been admitted since it first waited for nothing but free bytes. */
  overtakenBytes: number
  begin: () => void
}

export class ByteBudget {
  readonly #bytesMax: number
  readonly #used = new Tally()
  /** In the order in which they are served: the first is looked at first, and goes to the end when it was served. */
  readonly #waiting = new Map<string, Waiting[]>()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The function that gives the bytes back, or null when too few are free now. One that is larger than all goes alone. */
  tryAcquire(bytes: number, owner: string): (() => void) | null {
    const wanted = Math.min(bytes, this.#bytesMax)
    if (this.#waiting.has(owner) || !this.#fits(wanted, owner) || this.#isPromised()) return null
    this.#take(wanted, owner)
    return this.#releaseOf(wanted, owner)
  }

  /** Waits until so many are free. Rejects when the signal says so: the wait has no other limit. */
  async acquire(bytes: number, owner: string, signal?: AbortSignal): Promise<() => void> {
    const release = this.tryAcquire(bytes, owner)
    if (release) return release
    const wanted = Math.min(bytes, this.#bytesMax)
    await this.#waitFor(wanted, owner, signal)
    return this.#releaseOf(wanted, owner)
  }

  #waitFor(bytes: number, owner: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    return new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        this.#remove(waiting, owner)
        reject(signal!.reason as Error)
        // It may have been the one that others had to wait for.
        this.#admit()
      }
      const begin = (): void => {
        signal?.removeEventListener('abort', abort)
        resolve()
      }
      const waiting = { bytes, overtakenBytes: 0, begin }
      this.#waiting.set(owner, [...(this.#waiting.get(owner) ?? []), waiting])
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  #releaseOf(bytes: number, owner: string): () => void {
    let isReserved = true
    return () => {
      if (!isReserved) return
      isReserved = false
      this.#used.add(owner, -bytes)
      this.#admit()
    }
  }

  #fits(bytes: number, owner: string): boolean {
    return this.#used.total + bytes <= this.#bytesMax && this.#isWithinShare(bytes, owner)
  }

  /** The first thing of an owner may take more than half, or it could never begin. */
  #isWithinShare(bytes: number, owner: string): boolean {
    const own = this.#used.of(owner)
    return own === 0 || own + bytes <= this.#bytesMax / 2
  }

  #take(bytes: number, owner: string): void {
    this.#used.add(owner, bytes)
    for (const [other, [first]] of this.#waiting) {
      if (this.#isWithinShare(first!.bytes, other)) first!.overtakenBytes += bytes
    }
  }

  #admit(): void {
    for (let next = this.#next(); next; next = this.#next()) next.begin()
  }

  /** The first whose share and whose bytes fit, unless what is free is promised to one before it. */
  #next(): Waiting | null {
    for (const [owner, [first]] of this.#waiting) {
      if (this.#fits(first!.bytes, owner)) {
        this.#remove(first!, owner, { wasServed: true })
        this.#take(first!.bytes, owner)
        return first!
      }
      if (this.#isDue(first!, owner)) return null
    }
    return null
  }

  #isPromised(): boolean {
    for (const [owner, [first]] of this.#waiting) if (this.#isDue(first!, owner)) return true
    return false
  }

  /**
   * Overtaken by as much as it asks for, it is next: small things that fit would else keep a large one waiting for ever.
   * It waits for others' bytes only. An owner that has its half waits for itself and keeps nobody from being served.
   */
  #isDue({ bytes, overtakenBytes }: Waiting, owner: string): boolean {
    return overtakenBytes >= bytes && this.#isWithinShare(bytes, owner)
  }

  #remove(waiting: Waiting, owner: string, { wasServed = false } = {}): void {
    const left = this.#waiting.get(owner)!.filter(each => each !== waiting)
    if (wasServed || left.length === 0) this.#waiting.delete(owner)
    if (left.length > 0) this.#waiting.set(owner, left)
  }
}
