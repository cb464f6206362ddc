// What a pause held goes to the one that keeps it: a broader one that stood when it was resumed. Held before, held after: no
// event.
import { countHolds } from '../../control/suspensions/holds.ts'
import type { Tx } from '../../platform/db/database.ts'
import { updateAllMoved } from '../queue/held.ts'

const BATCH_MAX = 2_000

export async function moveAll(tx: Tx, fromId: string, toId: string): Promise<void> {
  while ((await moveBatch(tx, fromId, toId)) > 0);
}

/** The next ones, whoever asks; answers how many. */
export async function moveBatch(tx: Tx, fromId: string, toId: string): Promise<number> {
  const moved = await updateAllMoved(tx, { fromId, toId, limit: BATCH_MAX })
  if (moved === 0) return 0
  countHolds(tx, fromId, -moved)
  countHolds(tx, toId, moved)
  return moved
}
