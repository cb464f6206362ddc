// A bound on the message bytes that all SMTP sessions hold together. Who finds it used up stops reading, which TCP
// turns into waiting at the client, and nobody is refused. The session that has held its share the longest may always
// go on, so that some message can end whatever the others hold: there is no deadlock, and the bound is passed by one
// message at most.

/** What one session holds. */
export class Holding {
  readonly #memory: SmtpMemory
  /** Called when a session that was told to wait may read on. */
  readonly resume: () => void
  bytes = 0
  isWaiting = false

  constructor(memory: SmtpMemory, resume: () => void) {
    this.#memory = memory
    this.resume = resume
  }

  /** Whether the session may read on; otherwise `resume` is called when it may. */
  grow(bytes: number): boolean {
    this.bytes += bytes
    this.isWaiting = !this.#memory.add(this, bytes)
    return !this.isWaiting
  }

  release(): void {
    this.#memory.drop(this)
  }
}

export class SmtpMemory {
  readonly #bytesMax: number
  /** In the order in which they began, the oldest first. */
  readonly #holdings = new Set<Holding>()
  #used = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  open(resume: () => void): Holding {
    return new Holding(this, resume)
  }

  add(holding: Holding, bytes: number): boolean {
    this.#holdings.add(holding)
    this.#used += bytes
    return this.#mayGoOn(holding)
  }

  drop(holding: Holding): void {
    if (!this.#holdings.delete(holding)) return
    this.#used -= holding.bytes
    for (const each of this.#holdings) {
      if (!each.isWaiting) continue
      if (!this.#mayGoOn(each)) return
      each.isWaiting = false
      each.resume()
    }
  }

  #mayGoOn(holding: Holding): boolean {
    return this.#used <= this.#bytesMax || this.#holdings.values().next().value === holding
  }
}
