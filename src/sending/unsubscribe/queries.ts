// Finding the delivery that a signed link names.
import type { Db } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'

export interface LinkedDelivery {
  message_id: string
  account_id: string
  tenant_id: string
  recipient: string
}

/** The link's signature is the proof; nobody is logged in. */
export const findLinkedDeliveryAnywhere = (db: Db, messageId: string, n: number): Promise<LinkedDelivery | null> =>
  db.maybe<LinkedDelivery>(sql`
    select message_id, account_id, tenant_id, recipient from deliveries where message_id = ${messageId} and n = ${n}`)
