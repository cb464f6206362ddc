// Finding whom a signed link is for.
import type { Db } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'

export interface Linked {
  accountId: string
  tenantId: string
  messageId: string
  recipient: string
}

/** The link's signature is the proof; nobody is logged in. */
export const findAccountOfTenantAnywhere = (db: Db, tenantId: string): Promise<string | null> =>
  db.maybeValue<string>(sql`select account_id from tenants where id = ${tenantId}`)

/** The link's signature is the proof here, too. */
export const findLinkedDeliveryAnywhere = (db: Db, messageId: string, n: number): Promise<Linked | null> =>
  db.maybe<Linked>(sql`
    select message_id as "messageId", account_id as "accountId", tenant_id as "tenantId", recipient
    from deliveries where message_id = ${messageId} and n = ${n}`)
