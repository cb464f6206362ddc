// A tenant's line in the queue: what is queued anew takes places at its end, as new mail does.
import type { Tx } from '../../platform/db/database.ts'
import { RANK_STEP_MS } from './limits.ts'
import { advanceRanks } from './queries.ts'

/** Takes so many places for each tenant; answers where each one's first place is. */
export async function takePlaces(tx: Tx, places: ReadonlyMap<string, number>): Promise<Map<string, Date>> {
  const wanted = [...places].map(([tenantId, count]) => ({ tenantId, milliseconds: count * RANK_STEP_MS }))
  const firsts = await advanceRanks(tx, wanted)
  return new Map(firsts.map(({ tenant_id, first }) => [tenant_id, first]))
}

export const placeAfter = (first: Date, places: number): Date => new Date(first.getTime() + places * RANK_STEP_MS)
