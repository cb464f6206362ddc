// How far each tail is behind the newest event, for the metrics.
import type { Gauge } from 'prom-client'
import type { Db } from '../db/database.ts'
import { sql } from '../db/sql.ts'

export async function tailLag(db: Db, gauge: Gauge<'tail'>): Promise<void> {
  // A scrape must answer while the database is away.
  const rows = await db
    .many<{ name: string; lag: number }>(
      sql`select name, (select last_value from events_id_seq) - cursor as lag from tails`,
    )
    .catch(() => [])
  gauge.reset()
  for (const { name, lag } of rows) gauge.set({ tail: name }, Math.max(0, lag))
}
