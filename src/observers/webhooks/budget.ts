// How many pushes a process may hold, and how much of that goes to endpoints by how they have answered: any number of slow
// and of unknown ones leaves half of it to those that are quick.
import type { Lane, Standing } from './lane.ts'

/** Memory: an event is a kilobyte or two. */
export const HELD_MAX = 8_000
const HELD_SLOW_MAX = 2_000
const HELD_NEW_MAX = 2_000

export class Budget {
  readonly #left: Record<Standing, number>

  constructor(lanes: Iterable<Pick<Lane, 'standing' | 'held'>>) {
    const held = { new: 0, quick: 0, slow: 0 }
    for (const lane of lanes) held[lane.standing] += lane.held
    // Quick ones are bounded by what there is in all.
    this.#left = { new: HELD_NEW_MAX - held.new, quick: Infinity, slow: HELD_SLOW_MAX - held.slow }
  }

  hasRoomFor(standing: Standing): boolean {
    return this.#left[standing] > 0
  }

  /** As many of those as there are left. */
  take(standing: Standing, wanted: number): number {
    const taken = Math.max(0, Math.min(wanted, this.#left[standing]))
    this.#left[standing] -= taken
    return taken
  }
}
