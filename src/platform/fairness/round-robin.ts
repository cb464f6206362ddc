// A queue that serves its callers round robin: accounts, and within an account its tenants. A caller with a
// thousand items waiting delays another by one item per round, not by a thousand.

export class RoundRobin<Item> {
  readonly #items: (Item | undefined)[] = []
  #head = 0
  /** By the next part of the path. A Map keeps its order of insertion: the first is served, then goes to the end. */
  readonly #branches = new Map<string, RoundRobin<Item>>()
  #length = 0

  get length(): number {
    return this.#length
  }

  /** `path` says for whom it waits, broadest first; an empty one is a plain queue. */
  push(item: Item, path: readonly string[], depth = 0): void {
    this.#length += 1
    const key = path[depth]
    if (key === undefined) return void this.#items.push(item)
    let branch = this.#branches.get(key)
    if (!branch) {
      branch = new RoundRobin<Item>()
      this.#branches.set(key, branch)
    }
    branch.push(item, path, depth + 1)
  }

  /** How many wait under the path, which may be the beginning of theirs. */
  lengthOf([key, ...rest]: readonly string[]): number {
    return key === undefined ? this.#length : (this.#branches.get(key)?.lengthOf(rest) ?? 0)
  }

  /**
   * The next item, removed. Undefined when there is none, or when `accepts` says no: it then stays next. Those
   * that `mayServe` denies, by the first part of their path, stay next and are passed over.
   */
  take(
    accepts: (item: Item) => boolean = () => true,
    mayServe: (key: string) => boolean = () => true,
  ): Item | undefined {
    const item = this.#head < this.#items.length ? this.#takeOwn(accepts) : this.#takeFromBranch(accepts, mayServe)
    if (item !== undefined) this.#length -= 1
    return item
  }

  #takeOwn(accepts: (item: Item) => boolean): Item | undefined {
    const item = this.#items[this.#head]!
    if (!accepts(item)) return undefined
    // Or it would stay in memory until the array is cut.
    this.#items[this.#head] = undefined
    this.#head += 1
    // Removing the first of a long array moves all others, so it is done by halves.
    if (this.#head * 2 > this.#items.length) {
      this.#items.splice(0, this.#head)
      this.#head = 0
    }
    return item
  }

  #takeFromBranch(accepts: (item: Item) => boolean, mayServe: (key: string) => boolean): Item | undefined {
    for (const [key, branch] of this.#branches) {
      if (!mayServe(key)) continue
      const item = branch.take(accepts)
      if (item === undefined) return undefined
      this.#branches.delete(key)
      if (branch.length > 0) this.#branches.set(key, branch)
      return item
    }
    return undefined
  }
}
