// Putting the overview together: a tenant's slice, or all of an account.
import type { Reach } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { NO_TENANT, NOTHING } from '../metrics/counters.ts'
import { sumLastDay } from '../metrics/last-day.ts'
import { readQueueDepth } from '../queue/depth.ts'
import { tenantStandings } from '../reputation/standings.ts'
import type { AccountOverview } from './contract.ts'
import { countUnackedAlerts, listActiveSuspensions } from './queries.ts'

export const readOverview = (world: World, reach: Reach) =>
  reach.tenantId === null ? readAccountOverview(world, reach) : readSlice(world, reach)

export async function readAccountOverview(world: World, reach: Reach): Promise<AccountOverview> {
  const { lists } = world.db
  const [slice, queue, unackedAlerts, active] = await Promise.all([
    readSlice(world, reach),
    readQueueDepth(world, reach),
    countUnackedAlerts(lists, reach),
    listActiveSuspensions(lists, reach),
  ])
  return {
    ...slice,
    queue,
    unacked_alerts: unackedAlerts,
    active_suspensions: active.suspensions,
    active_suspensions_count: active.count,
  }
}

/** The totals are those of the widest scope within reach. */
async function readSlice(world: World, reach: Reach): Promise<Pick<AccountOverview, 'totals_24h' | 'tenants'>> {
  const [totals, tenants] = await Promise.all([
    sumLastDay(world, reach, reach.tenantId === null ? 'account' : 'tenant'),
    tenantStandings(world, reach),
  ])
  return {
    totals_24h: totals.get(reach.tenantId ?? NO_TENANT) ?? NOTHING,
    tenants: tenants.map(tenant => ({
      ...tenant,
      rates: { bounce: tenant.bounce_rate, block: tenant.block_rate, complaint: tenant.complaint_rate },
    })),
  }
}
