// Reading counters and daily usage; acceptance writes them.
import type { Db } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import type { Counters } from '../messages/windows.ts'

export const findCounters = (db: Db, tenantId: string): Promise<Counters | null> =>
  db.maybe<Counters>(sql`
    select minute, minute_count, hour, hour_count, day, day_count, month, month_count
    from tenant_counters where tenant_id = ${tenantId}`)

export const listUsageDays = (db: Db, { tenantId, since }: { tenantId: string; since: string }) =>
  db.many<{ date: string; recipients: number; messages: number }>(sql`
    select day as date, recipients, messages from usage_days
    where tenant_id = ${tenantId} and day >= ${since}::date order by day desc`)
