// A tenant that somebody names in a request to an observer: 404 when it is not within reach, whether it exists or not. The
// floors above identity ask there.
import type { Db } from './db/database.ts'
import { sql } from './db/sql.ts'
import { within, type Reach } from './principal.ts'
import { notFound } from './refusal.ts'

export async function requireTenantWithin(db: Pick<Db, 'maybe'>, reach: Reach, id: string): Promise<void> {
  const found = await db.maybe(sql`select 1 from tenants where id = ${id} and ${within(reach, { tenant: sql`id` })}`)
  if (!found) throw notFound('tenant')
}
