// Who may have a reputation: tenants and their domains, also those that sent nothing.
import type { Reads } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { within, type Reach } from '../../platform/principal.ts'

export const listTenantNames = (db: Reads, reach: Reach, limit: number): Promise<{ id: string; name: string }[]> =>
  db.many(sql`
    select id, name from tenants where ${within(reach, { tenant: sql`id` })} order by id desc limit ${limit}`)

export const listDomainNames = (db: Reads, reach: Reach, limit: number) =>
  db.many<{ tenant_id: string; name: string }>(
    sql`select tenant_id, name from domains where ${within(reach)} order by id desc limit ${limit}`,
  )
