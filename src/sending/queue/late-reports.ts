// The SQL of what is learned about deliveries after they were made.
import type { Db, Tx } from '../../platform/db/database.ts'
import { isLookedUpBy } from '../../platform/db/planner.ts'
import { sql } from '../../platform/db/sql.ts'
import { within, type Reach } from '../../platform/principal.ts'
import { inOrder, isSameRow, keyColumns, keyOf, type DeliveryKey, type Key } from './keys.ts'
import type { FinalStatus } from './attempts.ts'

export interface DeliveryRef extends Key {
  recipient: string
  status: string
  /** The transaction that it shared with others, or null. */
  envelope: number | null
}

interface Asked {
  /** Of recipients that are known by their number. */
  numbered: readonly DeliveryKey[]
  /** Of recipients that are known by their address. */
  addressed: readonly { message_id: string; recipient: string }[]
}

/** Locked in the order of their key, so that two reports never wait for each other. */
export async function listDeliveriesForUpdateAnywhere(tx: Tx, { numbered, addressed }: Asked): Promise<DeliveryRef[]> {
  const asked = [...numbered, ...(await listNumbers(tx.alongIndexes, addressed))]
  const keys = inOrder([...new Map(asked.map(key => [keyOf(key), key])).values()])
  return tx.alongIndexes.many<DeliveryRef>(sql`
    select d.message_id, d.n, d.account_id, d.tenant_id, d.recipient, d.status, d.envelope
    from json_to_recordset(${JSON.stringify(keys)}::json) as o (message_id uuid, n integer)
    join deliveries d on ${isLookedUpBy(sql`d.message_id`, sql`o.message_id`)} and d.n = o.n
    for update of d`)
}

/** Which recipients of their messages these addresses are. */
const listNumbers = async (db: Db, addressed: Asked['addressed']): Promise<DeliveryKey[]> =>
  addressed.length === 0
    ? []
    : db.many<DeliveryKey>(sql`
        select message_id, n from deliveries
        where message_id = any(${[...new Set(addressed.map(each => each.message_id))]}::uuid[])
          and lower(recipient) = any(array(select lower(r) from unnest(${addressed.map(each => each.recipient)}::text[]) r))
        limit 10000`)

export const isAnyBeingSent = async (tx: Tx, keys: readonly Key[]): Promise<boolean> => {
  if (keys.length === 0) return false
  const rows = keys.map(({ account_id, tenant_id, message_id, n }) => ({ account_id, tenant_id, message_id, n }))
  const found = await tx.alongIndexes.many(sql`
    select from queue q join json_to_recordset(${JSON.stringify(rows)}::json) as o (${keyColumns}) on ${isSameRow}
    where q.status = 'sending' limit 1`)
  return found.length > 0
}

/** For a caller: a message out of reach has no such recipient. Of two that differ by case the one that was written so. */
export const findDeliveryNumber = (db: Db, reach: Reach, messageId: string, recipient: string) =>
  db.maybeValue<number>(sql`
    select n from deliveries
    where message_id = ${messageId} and lower(recipient) = lower(${recipient}) and ${within(reach)}
    order by recipient = ${recipient} desc, n limit 1`)

export interface StatusChange extends DeliveryKey {
  status: FinalStatus | 'complained'
  bounce_type: string | null
  /** Null: what the receiver said before stays. Otherwise the new reply replaces all of the old one. */
  response: string | null
  smtp_code: number | null
  enhanced_code: string | null
}

export const updateStatuses = (tx: Tx, changes: readonly StatusChange[]): Promise<number> =>
  tx.alongIndexes.run(sql`
    update deliveries d set status = o.status, bounce_type = coalesce(o.bounce_type, d.bounce_type),
      smtp_code = case when o.response is null then d.smtp_code else o.smtp_code end,
      enhanced_code = case when o.response is null then d.enhanced_code else o.enhanced_code end,
      response = coalesce(o.response, d.response), updated_at = ${tx.now}
    from json_to_recordset(${JSON.stringify(changes)}::json) as o (message_id uuid, n integer, status text,
      bounce_type text, response text, smtp_code smallint, enhanced_code text)
    where ${isLookedUpBy(sql`d.message_id`, sql`o.message_id`)} and d.n = o.n`)
