// Sums over hours that are over, kept by the process that evaluates: they do not change any more, and reading a day or a
// week of them for ten thousand scopes at every pass would cost seconds. Thrown away as soon as the hour moves on.

/** Hours of scopes that may be read in one pass: about a second on a busy machine. The rest is for the next passes. */
const HOURS_MAX = 150_000

export class HourCache {
  readonly #kept = new Map<string, Map<string, unknown>>()
  readonly #used = new Set<string>()
  #budget = HOURS_MAX
  #isComplete = true

  /** What was not asked for since the last call is forgotten. */
  beginPass(): void {
    for (const name of this.#kept.keys()) if (!this.#used.has(name)) this.#kept.delete(name)
    this.#used.clear()
    this.#budget = HOURS_MAX
    this.#isComplete = true
  }

  /** False when something in this pass has to wait for the next one. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /**
   * By key. `load` reads those that are not known, each of `hours` hours; a key without an entry was not read for want
   * of budget. `name` says what is summed, and over which hours.
   */
  async get<Item, Sums>(
    {
      name,
      hours,
      items,
      keyOf,
    }: { name: string; hours: number; items: readonly Item[]; keyOf: (item: Item) => string },
    load: (missing: Item[]) => Promise<Sums[]>,
  ): Promise<ReadonlyMap<string, Sums>> {
    this.#used.add(name)
    let kept = this.#kept.get(name) as Map<string, Sums> | undefined
    if (!kept) this.#kept.set(name, (kept = new Map<string, Sums>()))
    const known = kept
    const missing = items.filter(item => !known.has(keyOf(item)))
    const affordable = missing.slice(0, Math.floor(this.#budget / Math.max(1, hours)))
    if (affordable.length < missing.length) this.#isComplete = false
    this.#budget -= affordable.length * hours
    for (let start = 0; start < affordable.length; start += CHUNK) {
      const chunk = affordable.slice(start, start + CHUNK)
      const sums = await load(chunk)
      chunk.forEach((item, index) => known.set(keyOf(item), sums[index]!))
    }
    return known
  }
}

/** In one statement, within its time limit on a busy machine. */
const CHUNK = 1_000
