// Sums over hours that are over, kept by the process that evaluates: they do not change any more, and reading a day or a
// week of them for ten thousand scopes at every pass would cost seconds. Thrown away as soon as the hour moves on.
import { randomInt } from 'node:crypto'
import { chunksOf } from './chunks.ts'
import { scopeKey, type Scope } from './rule.ts'
import { takeFairly } from './take-fairly.ts'

/** Hours of scopes that may be read in one pass: about a second on a busy machine. The rest is for the next passes. */
const HOURS_MAX = 150_000
/** On top of it, for accounts that have read little: fifty scopes of a week. One with thousands must not keep them waiting. */
const RESERVE_HOURS = 50_000
const LITTLE_HOURS = 50 * 168

/**
 * What is kept from one pass to the next, at a few hundred bytes each: two windows of as many scopes of an account as a pass
 * looks at, and three accounts like that. What is dropped is read again, on the budget of the passes that come.
 */
const KEPT_PER_OWNER_MAX = 100_000
const KEPT_MAX = 300_000

interface Wanted<Item> {
  /** What is summed, and over which hours. */
  name: string
  hours: number
  items: readonly Item[]
  keyOf: (item: Item) => string
  /** The account that it is read for. */
  ownerOf: (item: Item) => string
}

/** How scopes are known from one pass to the next. */
export const perScope = { keyOf: scopeKey, ownerOf: (scope: Scope): string => scope.account_id }

/** By owner and key, the oldest first. */
type Kept = Map<string, Map<string, unknown>>

export class HourCache {
  readonly #kept = new Map<string, Kept>()
  readonly #used = new Set<string>()
  readonly #spent = new Map<string, number>()
  readonly #cut = new Set<string>()
  readonly #perOwnerMax: number
  readonly #max: number
  #hasDropped = false
  #budget = HOURS_MAX
  #reserve = RESERVE_HOURS

  constructor({ perOwnerMax = KEPT_PER_OWNER_MAX, max = KEPT_MAX }: { perOwnerMax?: number; max?: number } = {}) {
    this.#perOwnerMax = perOwnerMax
    this.#max = max
  }

  /** What was not asked for since the last call is forgotten, and of the rest what is too much. */
  beginPass(): void {
    for (const name of this.#kept.keys()) if (!this.#used.has(name)) this.#kept.delete(name)
    this.#trim()
    this.#used.clear()
    this.#spent.clear()
    this.#cut.clear()
    this.#budget = HOURS_MAX
    this.#reserve = RESERVE_HOURS
  }

  get size(): number {
    return [...this.#countByOwner().values()].reduce((total, count) => total + count, 0)
  }

  /** False when something in this pass has to wait for the next one. */
  get isComplete(): boolean {
    return this.#cut.size === 0
  }

  /** Accounts with something that has to wait for the next pass. */
  get cutAccounts(): ReadonlySet<string> {
    return this.#cut
  }

  /** By item, one of these. `load` reads those that are not known; undefined for what was not read for want of budget. */
  async get<Item, Sums>(
    wanted: Wanted<Item>,
    load: (missing: Item[]) => Promise<Sums[]>,
  ): Promise<(item: Item) => Sums | undefined> {
    const { name, keyOf, ownerOf } = wanted
    this.#used.add(name)
    let kept = this.#kept.get(name) as Map<string, Map<string, Sums>> | undefined
    if (!kept) this.#kept.set(name, (kept = new Map<string, Map<string, Sums>>()))
    const known = kept
    // A key is long: it is put together once for each item.
    const found = new Map<Item, Sums>()
    const missing: Item[] = []
    for (const item of wanted.items) {
      const sums = known.get(ownerOf(item))?.get(keyOf(item))
      if (sums === undefined) missing.push(item)
      else found.set(item, sums)
    }
    const affordable = this.#afford({ ...wanted, items: this.#hasDropped ? fromAnywhere(missing) : missing })
    for (const chunk of chunksOf(affordable, CHUNK)) {
      const sums = await load(chunk)
      for (const [index, item] of chunk.entries()) {
        let own = known.get(ownerOf(item))
        if (!own) known.set(ownerOf(item), (own = new Map<string, Sums>()))
        own.set(keyOf(item), sums[index]!)
        found.set(item, sums[index]!)
      }
    }
    return item => found.get(item)
  }

  /**
   * Between passes only, so that what a pass has read is there to its end; a pass adds no more than its budget. The oldest go
   * first, and the next pass begins to read anywhere: those at the end would otherwise never be read.
   */
  #trim(): void {
    const counts = this.#countByOwner()
    const totalWith = (most: number): number =>
      [...counts.values()].reduce((sum, count) => sum + Math.min(count, most), 0)
    let share = this.#perOwnerMax
    while (share > 1 && totalWith(share) > this.#max) share = Math.max(1, Math.min(share - 1, Math.floor(share * 0.9)))
    this.#hasDropped = [...counts.values()].some(count => count > share)
    for (const [owner, count] of counts) this.#drop(owner, count - share)
  }

  #drop(owner: string, count: number): void {
    let left = count
    for (const kept of this.#kept.values()) {
      const own = kept.get(owner)
      for (const key of own?.keys() ?? []) {
        if (left <= 0) return
        own!.delete(key)
        left -= 1
      }
    }
  }

  #countByOwner(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const kept of this.#kept.values()) {
      for (const [owner, own] of kept) counts.set(owner, (counts.get(owner) ?? 0) + own.size)
    }
    return counts
  }

  #afford<Item>({ hours: wantedHours, items, ownerOf }: Wanted<Item>): Item[] {
    const hours = Math.max(1, wantedHours)
    const { taken, cut } = takeFairly(items, ownerOf, { max: Math.floor(this.#budget / hours) })
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

const fromAnywhere = <Item>(items: readonly Item[]): Item[] => {
  const start = randomInt(items.length + 1)
  return [...items.slice(start), ...items.slice(0, start)]
}
