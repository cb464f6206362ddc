// How many recipients each pause holds: whoever holds or lets go says so in the same transaction.
import type { Tx } from '../../platform/db/database.ts'
import { insertHolds } from './progress-queries.ts'

/** So many more, or fewer, of one pause. */
export function countHolds(tx: Tx, suspensionId: string, change: number): void {
  if (change !== 0) insertHolds(tx, [{ suspensionId, held: change }])
}

/** Of several pauses: one entry per recipient that came to be held by it. */
export function countHeld(tx: Tx, suspensionIds: readonly string[]): void {
  if (suspensionIds.length === 0) return
  const sums = new Map<string, number>()
  for (const id of suspensionIds) sums.set(id, (sums.get(id) ?? 0) + 1)
  insertHolds(
    tx,
    [...sums].map(([suspensionId, held]) => ({ suspensionId, held })),
  )
}
