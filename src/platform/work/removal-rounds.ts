// Rounds of removal: a batch of each thing that waits, a share for each account. One that fails is left out until everything
// else was tried, so that it stops no other; then it is tried again.
import { isOwnFailure } from '../db/separately.ts'
import type { World } from '../world.ts'

interface Waiting {
  id: string
}

interface Rounds<T extends Waiting> {
  /** For the log. */
  name: string
  /** Those that wait, without these. */
  list(world: World, except: readonly string[]): Promise<T[]>
  /** One batch; answers how many rows are gone. */
  remove(world: World, waiting: T): Promise<number>
}

/** More are tried again at once: the list of them travels with each question. */
const FAILED_MAX = 1_000

/** A round, which answers how much was done. While that is more than nothing there may be more to do. */
export function removalRounds<T extends Waiting>({ name, list, remove }: Rounds<T>) {
  const failed = new Set<string>()
  return async (world: World, signal: AbortSignal): Promise<number> => {
    if (failed.size > FAILED_MAX) failed.clear()
    const waiting = await list(world, [...failed])
    if (waiting.length === 0) failed.clear()
    let [removed, failures] = [0, 0]
    for (const each of waiting) {
      if (signal.aborted) break
      try {
        removed += await remove(world, each)
      } catch (error) {
        // None of the others could be removed either.
        if (!isOwnFailure(error)) throw error
        world.log.error({ err: error, id: each.id }, `${name}: one could not be removed`)
        failed.add(each.id)
        failures += 1
      }
    }
    // Their sources wait for a worker that may have looked before they did.
    if (removed > 0) world.wakeups.hint('removals')
    return removed + failures
  }
}
