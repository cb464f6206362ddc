// How many pushes a process may hold, and how much of that goes to endpoints by how they have answered: any number of slow
// and of unknown ones leaves half of it to those that are quick. Of each part an account may hold as many as are still free
// (a dynamic threshold: one account gets half, two a third each), so that there is always room for another one.
import type { Lane, Standing } from './lane.ts'

/** Memory: an event is a kilobyte or two. */
export const HELD_MAX = 8_000
const HELD_SLOW_MAX = 2_000
const HELD_NEW_MAX = 2_000
/** An account that has its share gets more once it has room for so many: a claim must be worth its transaction. */
export const ROOM_MIN = 32

/** `all`: whatever the standing. Quick ones are bounded by what there is in all. */
type Part = 'all' | 'new' | 'slow'

const MAX: Record<Part, number> = { all: HELD_MAX, new: HELD_NEW_MAX, slow: HELD_SLOW_MAX }

export class Budget {
  readonly #held: Record<Part, number> = { all: 0, new: 0, slow: 0 }
  readonly #byAccount = new Map<string, Record<Part, number>>()

  constructor(lanes: Iterable<Pick<Lane, 'standing' | 'held' | 'accountId'>>) {
    for (const { standing, held, accountId } of lanes) this.#add(standing, accountId, held)
  }

  /** How many more this account may hold of those. */
  roomFor(standing: Standing, accountId: string): number {
    return partsOf(standing).reduce((least, part) => Math.min(least, this.#share(part, accountId)), Infinity)
  }

  /** For a webhook of an account that holds nothing here. */
  get hasRoomForStrangers(): boolean {
    return this.roomFor('new', '') > 0
  }

  /** Accounts that hold something and may hold no more new ones. */
  fullAccounts(): Set<string> {
    return new Set([...this.#byAccount.keys()].filter(accountId => this.roomFor('new', accountId) === 0))
  }

  /** As many of those as there are left. */
  take(standing: Standing, accountId: string, wanted: number): number {
    const taken = Math.max(0, Math.min(wanted, this.roomFor(standing, accountId)))
    this.#add(standing, accountId, taken)
    return taken
  }

  /** What is left once it is taken must be no less than what the account has then. */
  #share(part: Part, accountId: string): number {
    const own = this.#byAccount.get(accountId)?.[part] ?? 0
    const free = MAX[part] - this.#held[part]
    const room = Math.floor((free - own) / 2)
    return room <= 0 || (own >= ROOM_MIN && room < ROOM_MIN) ? 0 : room
  }

  #add(standing: Standing, accountId: string, count: number): void {
    let own = this.#byAccount.get(accountId)
    if (!own) this.#byAccount.set(accountId, (own = { all: 0, new: 0, slow: 0 }))
    for (const part of partsOf(standing)) {
      own[part] += count
      this.#held[part] += count
    }
  }
}

const partsOf = (standing: Standing): Part[] => (standing === 'quick' ? ['all'] : ['all', standing])
