// A tenant's line in the queue: what is queued anew takes places at its end, as new mail does.
import { system } from '../../platform/db/actor.ts'
import type { World } from '../../platform/world.ts'
import { RANK_STEP_MS } from './limits.ts'
import { advanceRanks } from './queries.ts'

/**
 * Takes so many places for each tenant; answers where each one's first place is. In a short transaction of its own: the
 * line is what every acceptance of the tenant waits for, and places that are taken and not used do no harm.
 */
export async function takePlaces({ db }: World, places: ReadonlyMap<string, number>): Promise<Map<string, Date>> {
  const wanted = [...places].map(([tenantId, count]) => ({ tenantId, milliseconds: count * RANK_STEP_MS }))
  const firsts = await db.transactLightly(system('ranks'), tx => advanceRanks(tx, wanted))
  return new Map(firsts.map(({ tenant_id, first }) => [tenant_id, first]))
}

export const placeAfter = (first: Date, places: number): Date => new Date(first.getTime() + places * RANK_STEP_MS)
