// A budget of bytes for things that are large while they last: request bodies, message sources. Whoever finds it used
// up waits for their turn; nobody is refused, and memory stays bounded.

interface Waiting {
  bytes: number
  begin: () => void
}

export class ByteBudget {
  readonly #bytesMax: number
  #used = 0
  #waiting: Waiting[] = []

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Answers when there is room, with the function that gives it back. One that is larger than all goes alone. */
  async acquire(bytes: number): Promise<() => void> {
    const wanted = Math.min(bytes, this.#bytesMax)
    if (this.#waiting.length > 0 || this.#used + wanted > this.#bytesMax) {
      await new Promise<void>(begin => this.#waiting.push({ bytes: wanted, begin }))
    } else this.#used += wanted
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#used -= wanted
      this.#admit()
    }
  }

  #admit(): void {
    while (this.#waiting.length > 0 && this.#used + this.#waiting[0]!.bytes <= this.#bytesMax) {
      const next = this.#waiting.shift()!
      this.#used += next.bytes
      next.begin()
    }
  }
}
