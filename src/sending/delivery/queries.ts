// What delivery reads of the messages that it sends.
import type { Db, Tx } from '../../platform/db/database.ts'
import { base64Part, isAmong, prepared, sql } from '../../platform/db/sql.ts'

export interface MessageToSend {
  id: string
  account_id: string
  tenant_id: string
  api_key_id: string | null
  credential_id: string | null
  domain_id: string | null
  sender: string
  sender_domain: string
  tags: string[]
  size: number
  is_sandbox: boolean
  needs_smtputf8: boolean
  has_unsubscribe: boolean
  require_tls: boolean
  /** The inbox through whose provider it leaves; null for mail that is delivered to its receivers. */
  relay_inbox_id: string | null
  /** Null when it is large: fetched right before it is sent. */
  source: Buffer | null
}

/** The messages of a claim, with the bodies that are small enough to hold many of. */
export const listMessagesToSend = (db: Db, ids: readonly string[], bodyBytesMax: number): Promise<MessageToSend[]> =>
  db.many<MessageToSend>(prepared`
    select m.id, m.account_id, m.tenant_id, m.api_key_id, m.credential_id, m.domain_id, m.sender, m.sender_domain, m.tags,
      m.size, m.is_sandbox, m.needs_smtputf8, m.has_unsubscribe, a.require_outbound_tls as require_tls,
      m.relay_inbox_id,
      case when m.size <= ${bodyBytesMax} and not m.is_sandbox then b.source end as source
    from messages m join accounts a on a.id = m.account_id left join message_bodies b on b.message_id = m.id
    where ${isAmong(sql`m.id`, ids)}`)

/** Reading all of 36 MB would block the thread. */
export async function findBodyPart(db: Db, messageId: string, part: { start: number; bytes: number }) {
  const row = await db.maybe<{ part: string }>(prepared`
    select ${base64Part(sql`source`, part)} as part from message_bodies where message_id = ${messageId}`)
  return row && row.part
}

export const createPartitions = (tx: Tx, weeksAhead: number): Promise<number> =>
  tx.run(sql`select create_message_partitions(${tx.now}, ${weeksAhead})`)
