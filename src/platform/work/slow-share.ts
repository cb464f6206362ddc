// A share per account of work that waits for somebody slow. An account may have work for any number of keys (destinations),
// each of them slow, so that no limit of a key bounds it. With too much of that under way it goes on with keys that have
// answered lately, and its other work waits in the database.
import type { KeyOf } from './leased-work.ts'
import { Throttle } from './throttle.ts'

/** So long under way, and its key counts as slow. */
const SLOW_MS = 5_000
/** So much slow work of one account is under way at once. */
const PER_ACCOUNT = 100
/** Keys that are remembered to have answered without delay. */
const QUICK_MAX = 10_000

interface UnderWay extends KeyOf {
  since: number
  isSlow: boolean
}

export class SlowShare {
  /** The oldest first. */
  readonly #underWay = new Set<UnderWay>()
  readonly #accounts = new Throttle(PER_ACCOUNT)
  /** The one that answered last is at the end. */
  readonly #quick = new Set<string>()

  async run<T>(about: KeyOf, act: () => Promise<T>): Promise<T> {
    const work: UnderWay = { ...about, since: performance.now(), isSlow: false }
    this.#underWay.add(work)
    try {
      return await act()
    } finally {
      this.#underWay.delete(work)
      this.#learn(work)
    }
  }

  /** Of work that has lasted for too long. */
  slowKeys(): string[] {
    const before = performance.now() - SLOW_MS
    const keys: string[] = []
    for (const work of this.#underWay) {
      if (work.since > before) break
      keys.push(work.key)
      if (!work.isSlow) this.#countSlow(work)
    }
    return keys
  }

  /** How long so much work has to wait because of other work of its account; null when it may go. */
  deferMs({ accountId, key }: KeyOf, count: number): number | null {
    return this.#quick.has(key) ? null : this.#accounts.deferMs(accountId, count)
  }

  #countSlow(work: UnderWay): void {
    work.isSlow = true
    this.#accounts.begin(work.accountId, 1)
    this.#accounts.markSlow(work.accountId)
  }

  #learn({ accountId, key, since, isSlow }: UnderWay): void {
    this.#quick.delete(key)
    if (isSlow) {
      this.#accounts.countServed(accountId, 1)
      this.#accounts.end(accountId, 1)
    } else if (performance.now() - since < SLOW_MS) this.#quick.add(key)
    const [oldest] = this.#quick
    if (this.#quick.size > QUICK_MAX) this.#quick.delete(oldest!)
  }
}
