// The SQL that files messages.
import type { Authentication } from '../../mail/authentication/authenticate.ts'
import type { Db, Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import { storableJson } from '../storable.ts'
import type { Shield } from './message-schema.ts'
import type { MessageRow as StoredMessage } from './queries.ts'

/** Columns that are filled later, or by what is sent. */
type Later = 'folder' | 'labels' | 'bcc_list' | 'approval_id' | 'message_id' | 'extracted_data'

export interface MessageRow extends Omit<StoredMessage, Later> {
  account_id: string
  tenant_id: string
  folder_id: string
  source_id: string
  from_address: string
  has_attachments: boolean
}

/** Travels with the commit. */
export const insertMessages = (tx: Tx, rows: readonly MessageRow[]): void =>
  tx.send(prepared`
    insert into inbox_messages (id, account_id, tenant_id, inbox_id, thread_id, folder_id, source_id, direction, is_read,
      from_text, from_address, to_list, cc_list, reply_to, subject, snippet, rfc_message_id, in_reply_to, reference_ids,
      date, received_at, size, has_attachments, auth, shield, status, is_blocked, is_tainted)
    select id, account_id, tenant_id, inbox_id, thread_id, folder_id, source_id, direction, is_read, from_text,
      from_address, to_list, cc_list, reply_to, subject, snippet, rfc_message_id, in_reply_to, reference_ids, date,
      received_at, size, has_attachments, auth, shield, status, is_blocked, is_tainted
    from json_to_recordset(${storableJson(rows)}::json) as m (id uuid, account_id uuid, tenant_id uuid, inbox_id uuid,
      thread_id uuid, folder_id uuid, source_id uuid, direction text, is_read boolean, from_text text, from_address text,
      to_list text[], cc_list text[], reply_to text, subject text, snippet text, rfc_message_id text, in_reply_to text,
      reference_ids text[], date timestamptz, received_at timestamptz, size integer, has_attachments boolean, auth jsonb,
      shield jsonb, status text, is_blocked boolean, is_tainted boolean)`)

export const updateThreadOfMessages = (tx: Tx, { from, into }: { from: string; into: string }): Promise<number> =>
  tx.run(sql`update inbox_messages set thread_id = ${into} where thread_id = ${from}`)

type Filed = Pick<MessageRow, 'id' | 'inbox_id' | 'thread_id' | 'folder_id' | 'from_address' | 'is_blocked'>

export interface ReceivedMessage extends Filed {
  folder_key: string
  auth: Authentication
  shield: Shield
}

export const listReceivedOfSource = (db: Db, sourceId: string, inboxIds: readonly string[]) =>
  db.many<ReceivedMessage>(prepared`
    select m.id, m.inbox_id, m.thread_id, m.folder_id, f.name_key as folder_key, m.from_address, m.auth, m.shield, m.is_blocked
    from inbox_messages m join folders f on f.id = m.folder_id
    where m.source_id = ${sourceId} and m.direction = 'in' and m.inbox_id = any(${inboxIds}::uuid[])`)

export const listInboxesOfSource = async (db: Db, sourceId: string): Promise<string[]> => {
  const rows = await db.many<{ inbox_id: string }>(prepared`
    select distinct inbox_id from inbox_messages where source_id = ${sourceId} and direction = 'in'`)
  return rows.map(({ inbox_id }) => inbox_id)
}

export const updateMessageShield = (
  tx: Tx,
  { id, shield, isBlocked, isTainted }: { id: string; shield: Shield; isBlocked: boolean; isTainted: boolean },
): Promise<number> =>
  tx.run(prepared`
    update inbox_messages set shield = ${storableJson(shield)}::jsonb, is_blocked = ${isBlocked},
      is_tainted = is_tainted or ${isTainted}
    where id = ${id}`)
