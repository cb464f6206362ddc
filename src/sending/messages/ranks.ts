// A tenant's line in the queue: what is queued anew gets ranks at its end, as new mail does.
import { system } from '../../platform/db/actor.ts'
import type { World } from '../../platform/world.ts'
import { RANK_STEP_MS } from './limits.ts'
import { advanceRanks } from './queries.ts'

/**
 * Reserves so many ranks for each tenant; answers the first of each. In a short transaction of its own: the
 * line is what every acceptance of the tenant waits for, and ranks that are not used do no harm.
 */
export async function reserveRanks({ db }: World, counts: ReadonlyMap<string, number>): Promise<Map<string, Date>> {
  const wanted = [...counts].map(([tenantId, count]) => ({ tenantId, milliseconds: count * RANK_STEP_MS }))
  const firsts = await db.transactLightly(system('ranks'), tx => advanceRanks(tx, wanted))
  return new Map(firsts.map(({ tenant_id, first }) => [tenant_id, first]))
}

export const rankAfter = (first: Date, steps: number): Date => new Date(first.getTime() + steps * RANK_STEP_MS)
