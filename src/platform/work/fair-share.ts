// How many items a process may have leased, and how much of that goes to keys by how they have answered: any number of slow
// and of unknown ones leaves a part for those that are quick. Of each part an account may have as many as are still free (a
// dynamic threshold: one account gets half, two a third each), so that another one always gets some.
import type { KeyQueue, Standing } from './key-queue.ts'

/** An account that has its share gets more once so many are free: a claim must be worth its transaction. */
export const FREE_MIN = 32

/** `all`: whatever the standing. Quick ones are bounded by what there is in all. */
type Part = 'all' | 'new' | 'slow'

export interface ShareLimits extends Record<Part, number> {
  /** A fixed share of an account, instead of as many as are free. */
  perAccount?: number
}

export class FairShare {
  readonly #limits: ShareLimits
  readonly #taken: Record<Part, number> = { all: 0, new: 0, slow: 0 }
  readonly #byAccount = new Map<string, Record<Part, number>>()

  constructor(limits: ShareLimits, queues: Iterable<Pick<KeyQueue<unknown>, 'standing' | 'size' | 'accountId'>> = []) {
    this.#limits = limits
    for (const { standing, size, accountId } of queues) this.#add(standing, accountId, size)
  }

  /** How many more of those this account may have. */
  freeFor(standing: Standing, accountId: string): number {
    return partsOf(standing).reduce((least, part) => Math.min(least, this.#share(part, accountId)), Infinity)
  }

  /** For a key of an account that has nothing here. */
  get mayTakeStrangers(): boolean {
    return this.freeFor('new', '') > 0
  }

  /** Accounts that have something and may have no more new ones. */
  fullAccounts(): Set<string> {
    return new Set([...this.#byAccount.keys()].filter(accountId => this.freeFor('new', accountId) === 0))
  }

  /** As many of those as there are left. */
  take(standing: Standing, accountId: string, wanted: number): number {
    const taken = Math.max(0, Math.min(wanted, this.freeFor(standing, accountId)))
    this.#add(standing, accountId, taken)
    return taken
  }

  /** What is left once it is taken must be no less than what the account has then. */
  #share(part: Part, accountId: string): number {
    const own = this.#byAccount.get(accountId)?.[part] ?? 0
    const free = this.#limits[part] - this.#taken[part]
    const { perAccount } = this.#limits
    if (perAccount !== undefined) return Math.max(0, Math.min(free, perAccount - own))
    const share = Math.floor((free - own) / 2)
    return share <= 0 || (own >= FREE_MIN && share < FREE_MIN) ? 0 : share
  }

  #add(standing: Standing, accountId: string, count: number): void {
    let own = this.#byAccount.get(accountId)
    if (!own) this.#byAccount.set(accountId, (own = { all: 0, new: 0, slow: 0 }))
    for (const part of partsOf(standing)) {
      own[part] += count
      this.#taken[part] += count
    }
  }
}

const partsOf = (standing: Standing): Part[] => (standing === 'quick' ? ['all'] : ['all', standing])
