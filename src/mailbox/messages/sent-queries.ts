// The SQL over messages that were sent. A transaction that writes has locked the inbox.
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'
import { within, type Reach } from '../../platform/principal.ts'
import { storableJson } from '../storable.ts'
import type { MessageRow } from './insert-queries.ts'

/** Columns of what was received that a sent mail has none of, or has always the same value in. */
type OfReceived = 'direction' | 'is_read' | 'reply_to' | 'auth' | 'is_blocked' | 'is_tainted'

export interface SentRow extends Omit<MessageRow, OfReceived> {
  bcc_list: readonly string[]
  rfc_message_id: string
  date: Date
  status: string
  approval_id: string | null
  message_id: string | null
}

export const insertSentMessages = (tx: Tx, rows: readonly SentRow[]): void =>
  tx.send(prepared`
    insert into inbox_messages (id, account_id, tenant_id, inbox_id, thread_id, folder_id, source_id, direction, is_read,
      from_text, from_address, to_list, cc_list, bcc_list, subject, snippet, rfc_message_id, in_reply_to, reference_ids,
      date, received_at, size, has_attachments, shield, status, approval_id, message_id)
    select id, account_id, tenant_id, inbox_id, thread_id, folder_id, source_id, 'out', true, from_text, from_address,
      to_list, cc_list, bcc_list, subject, snippet, rfc_message_id, in_reply_to, reference_ids, date, received_at, size,
      has_attachments, shield, status, approval_id, message_id
    from json_to_recordset(${storableJson(rows)}::json) as m (id uuid, account_id uuid, tenant_id uuid, inbox_id uuid,
      thread_id uuid, folder_id uuid, source_id uuid, from_text text, from_address text, to_list text[], cc_list text[],
      bcc_list text[], subject text, snippet text, rfc_message_id text, in_reply_to text, reference_ids text[],
      date timestamptz, received_at timestamptz, size integer, has_attachments boolean, shield jsonb, status text,
      approval_id uuid, message_id uuid)`)

type Submitted = Pick<SentRow, 'id' | 'thread_id' | 'subject' | 'snippet' | 'to_list'>

/** A mail that waited and is accepted now. */
export const updateSentMessage = (
  tx: Tx,
  { id, status, submissionId }: { id: string; status: string; submissionId: string },
): Promise<Submitted> =>
  tx.one<Submitted>(prepared`
    update inbox_messages set status = ${status}, message_id = ${submissionId} where id = ${id}
    returning id, thread_id, subject, snippet, to_list`)

export async function updateStatuses(tx: Tx, statuses: readonly { id: string; status: string }[]): Promise<void> {
  if (statuses.length === 0) return
  await tx.run(prepared`
    update inbox_messages m set status = s.status
    from unnest(${bareArray(statuses.map(({ id }) => id))}::uuid[], ${statuses.map(({ status }) => status)}::text[])
      as s (id, status)
    where m.id = s.id`)
}

type ComposedRow = Pick<SentRow, 'id' | 'inbox_id' | 'thread_id' | 'status' | 'message_id' | 'approval_id'>

/** By the submission that carries it, or by its own id while there is none. */
export const findComposed = (db: Db, reach: Reach, id: string): Promise<ComposedRow | null> =>
  db.maybe<ComposedRow>(prepared`
    select id, inbox_id, thread_id, status, message_id, approval_id from inbox_messages
    where (message_id = ${id} or id = ${id}) and direction = 'out' and ${within(reach, { inbox: sql`inbox_id` })}
    limit 1`)

/** The threads that messages are in by now. */
export const listThreadsOf = (db: Db, messageIds: readonly string[]) =>
  db.many<{ id: string; thread_id: string; inbox_id: string }>(prepared`
    select id, thread_id, inbox_id from inbox_messages where id = any(${bareArray(messageIds)}::uuid[])`)
