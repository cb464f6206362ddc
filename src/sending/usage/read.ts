// A tenant's usage: the running windows and the days behind it.
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import type { Reach } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { current, endsOf, NEVER } from '../messages/windows.ts'
import { findCounters, listUsageDays } from './queries.ts'

const DAY_MS = 86_400_000

export async function readUsage(world: World, reach: Reach, tenantId: string, days: number) {
  const now = world.clock.now()
  const dates = Array.from({ length: days }, (_, age) =>
    new Date(now.getTime() - age * DAY_MS).toISOString().slice(0, 10),
  )
  const tenant = await requireTenantInReach(world.db, reach, tenantId)
  const [stored, rows] = await Promise.all([
    findCounters(world.db, tenant.id),
    listUsageDays(world.db, { tenantId: tenant.id, since: dates.at(-1)! }),
  ])
  const counters = current(stored ?? NEVER, now)
  const ends = endsOf(now)
  const byDate = new Map(rows.map(row => [row.date, row]))
  const window = (used: number, limit: number | null, end: Date) => ({
    used,
    limit,
    remaining: limit === null ? null : Math.max(0, limit - used),
    resets_at: end.toISOString(),
  })
  return {
    tenant_id: tenant.id,
    effective_rate_per_minute: tenant.effective_rate_per_minute,
    minute: window(counters.minute_count, tenant.effective_rate_per_minute, ends.minute),
    hour: window(counters.hour_count, tenant.rate_per_hour, ends.hour),
    day: window(counters.day_count, tenant.quota_daily, ends.day),
    month: window(counters.month_count, tenant.quota_monthly, ends.month),
    history: dates.map(date => byDate.get(date) ?? { date, recipients: 0, messages: 0 }),
  }
}
