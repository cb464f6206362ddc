// How many of each key there are, and in all. A key of which nothing is left takes no memory.

export class Tally {
  readonly #counts = new Map<string, number>()
  #total = 0

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  /** Answers how many there are then. */
  add(key: string, change = 1): number {
    const count = this.of(key) + change
    this.#total += change
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
    return count
  }

  entries(): IterableIterator<[key: string, count: number]> {
    return this.#counts.entries()
  }

  get total(): number {
    return this.#total
  }

  /** How many keys there is something of. */
  get size(): number {
    return this.#counts.size
  }
}
