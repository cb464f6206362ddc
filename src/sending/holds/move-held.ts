// What a pause that is being resumed holds, and another active one matches as well, stays held by that other one.
import type { ActiveSuspension } from '../../control/suspensions/active.ts'
import { countHolds } from '../../control/suspensions/holds.ts'
import { noteHeldSince } from '../../control/suspensions/unfinished.ts'
import type { Tx } from '../../platform/db/database.ts'
import { listHeldMatching } from '../queue/held.ts'
import { moveTo, stoppedBy } from './release.ts'

/** Rows that are looked at by one statement, of which some or none are moved. */
const BATCH_MAX = 5_000

/** `heldSince` restricts it to what came to be held since then. Held before, held after: no event. */
export async function moveSome(
  tx: Tx,
  from: ActiveSuspension,
  others: readonly ActiveSuspension[],
  heldSince: Date | null,
): Promise<void> {
  const takers = new Set<string>()
  let after: { message_id: string; n: number } | null = null
  do {
    const page = { suspensionId: from.id, after, limit: BATCH_MAX }
    const { rows, end } = await listHeldMatching(tx, page, { others, since: heldSince })
    after = end
    if (rows.length === 0) continue
    const stopped = await stoppedBy(tx, rows, others)
    moveTo(tx, stopped, null)
    countHolds(tx, from.id, -stopped.size)
    for (const { id } of stopped.values()) takers.add(id)
  } while (after)
  for (const id of takers) await noteHeldSince(tx, id, from.id)
}
