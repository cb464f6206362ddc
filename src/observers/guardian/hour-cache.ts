// Sums over hours that are over, kept by the process that evaluates: they do not change any more, and reading a day or a
// week of them for ten thousand scopes at every pass would cost seconds. Thrown away as soon as the hour moves on.
import { takeInTurn } from './in-turn.ts'

/** Hours of scopes that may be read in one pass: about a second on a busy machine. The rest is for the next passes. */
const HOURS_MAX = 150_000
/** On top of it, for accounts that have read little: fifty scopes of a week. One with thousands must not keep them waiting. */
const RESERVE_HOURS = 50_000
const LITTLE_HOURS = 50 * 168

interface Wanted<Item> {
  /** What is summed, and over which hours. */
  name: string
  hours: number
  items: readonly Item[]
  keyOf: (item: Item) => string
  /** The account that it is read for. */
  ownerOf: (item: Item) => string
}

export class HourCache {
  readonly #kept = new Map<string, Map<string, unknown>>()
  readonly #used = new Set<string>()
  readonly #spent = new Map<string, number>()
  readonly #cut = new Set<string>()
  #budget = HOURS_MAX
  #reserve = RESERVE_HOURS

  /** What was not asked for since the last call is forgotten. */
  beginPass(): void {
    for (const name of this.#kept.keys()) if (!this.#used.has(name)) this.#kept.delete(name)
    this.#used.clear()
    this.#spent.clear()
    this.#cut.clear()
    this.#budget = HOURS_MAX
    this.#reserve = RESERVE_HOURS
  }

  /** False when something in this pass has to wait for the next one. */
  get isComplete(): boolean {
    return this.#cut.size === 0
  }

  /** Accounts with something that has to wait for the next pass. */
  get cutAccounts(): ReadonlySet<string> {
    return this.#cut
  }

  /** By key. `load` reads those that are not known; a key without an entry was not read for want of budget. */
  async get<Item, Sums>(
    wanted: Wanted<Item>,
    load: (missing: Item[]) => Promise<Sums[]>,
  ): Promise<ReadonlyMap<string, Sums>> {
    const { name, keyOf } = wanted
    this.#used.add(name)
    let kept = this.#kept.get(name) as Map<string, Sums> | undefined
    if (!kept) this.#kept.set(name, (kept = new Map<string, Sums>()))
    const known = kept
    const affordable = this.#afford({ ...wanted, items: wanted.items.filter(item => !known.has(keyOf(item))) })
    for (let start = 0; start < affordable.length; start += CHUNK) {
      const chunk = affordable.slice(start, start + CHUNK)
      const sums = await load(chunk)
      chunk.forEach((item, index) => known.set(keyOf(item), sums[index]!))
    }
    return known
  }

  #afford<Item>({ hours: wantedHours, items, ownerOf }: Wanted<Item>): Item[] {
    const hours = Math.max(1, wantedHours)
    const { taken, cut } = takeInTurn(items, ownerOf, { max: Math.floor(this.#budget / hours) })
    this.#budget -= taken.length * hours
    for (const item of taken) this.#spend(ownerOf(item), hours)
    if (cut.size === 0) return taken
    const done = new Set(taken)
    for (const item of items) {
      if (done.has(item)) continue
      const owner = ownerOf(item)
      if (this.#reserve < hours || (this.#spent.get(owner) ?? 0) + hours > LITTLE_HOURS) this.#cut.add(owner)
      else {
        this.#reserve -= hours
        this.#spend(owner, hours)
        taken.push(item)
      }
    }
    return taken
  }

  #spend(owner: string, hours: number): void {
    this.#spent.set(owner, (this.#spent.get(owner) ?? 0) + hours)
  }
}

/** In one statement, within its time limit on a busy machine. */
const CHUNK = 1_000
