// How many recipients each pause holds: whoever holds or lets go says so in the same transaction.
import type { Tx } from '../../platform/db/database.ts'
import { insertHolds } from './progress-queries.ts'

/** One entry per recipient that came to be held by the pause. */
export const countHeld = (tx: Tx, suspensionIds: readonly string[]): void => count(tx, suspensionIds, 1)

/** One entry per recipient that the pause no longer holds. */
export const countLetGo = (tx: Tx, suspensionIds: readonly string[]): void => count(tx, suspensionIds, -1)

function count(tx: Tx, suspensionIds: readonly string[], each: 1 | -1): void {
  if (suspensionIds.length === 0) return
  const sums = new Map<string, number>()
  for (const id of suspensionIds) sums.set(id, (sums.get(id) ?? 0) + each)
  insertHolds(
    tx,
    [...sums].map(([suspensionId, held]) => ({ suspensionId, held })),
  )
}
