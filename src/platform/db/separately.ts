// What failed as one batch, each item by itself: one that cannot be stored keeps nobody else from it.
import { isTimedOut, isUnavailable } from './errors.ts'

interface Separate<Result> {
  /** In the order of the items, as far as they were tried. */
  results: (Result | Error)[]
  /** The database is away, or too slow for anybody: what comes behind was not tried. */
  stoppedBy: Error | null
}

/** So many statements that take too long, one after the other, are not the doing of their items. */
const TIMEOUTS_MAX = 2

/** Whether a batch may be stored when its items are taken apart. While the database is away, none of them can be. */
export const isOwnFailure = (error: unknown): boolean => !isUnavailable(error) || isTimedOut(error)

export async function separately<Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): Promise<Separate<Result>> {
  const results: (Result | Error)[] = []
  let timeouts = 0
  for (const item of items) {
    try {
      results.push(await act(item))
      timeouts = 0
    } catch (error) {
      if (isTimedOut(error)) timeouts += 1
      if (!isOwnFailure(error) || timeouts === TIMEOUTS_MAX) return { results, stoppedBy: error as Error }
      results.push(error as Error)
    }
  }
  return { results, stoppedBy: null }
}
