// The SQL that changes messages. A transaction that writes has locked the inbox.
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'
import { deleteWords } from '../search/insert-words.ts'
import type { MessageRow } from './queries.ts'

/** What counts and events are made of. */
export interface MessageState extends Pick<MessageRow, 'id' | 'thread_id' | 'source_id' | 'folder' | 'labels'> {
  folder_id: string
  folder_key: string
  is_read: boolean
  is_blocked: boolean
  is_tainted: boolean
}

/** Messages under a discarded folder exist for nobody but the worker that removes them. */
export const listMessageStates = (
  db: Db,
  inboxId: string,
  ids: readonly string[],
  { withDiscarded = false }: { withDiscarded?: boolean } = {},
): Promise<MessageState[]> =>
  db.many<MessageState>(prepared`
    select m.id, m.thread_id, m.source_id, m.folder_id, f.name as folder, f.name_key as folder_key, m.is_read,
      m.is_blocked, m.is_tainted, m.labels
    from inbox_messages m join folders f on f.id = m.folder_id
    where m.id = any(${bareArray(ids)}::uuid[]) and m.inbox_id = ${inboxId}
      and (f.discarded_at is null or ${withDiscarded})`)

export async function listMessageIdsInFolder(db: Db, folderId: string, limit: number): Promise<string[]> {
  const rows = await db.many<{ id: string }>(sql`
    select id from inbox_messages where folder_id = ${folderId} order by id desc limit ${limit}`)
  return rows.map(({ id }) => id)
}

/** Travels with the commit. */
export function updateMessageStates(tx: Tx, states: readonly MessageState[]): void {
  tx.send(prepared`
    update inbox_messages m set folder_id = state.folder_id, is_read = state.is_read
    from unnest(${bareArray(states.map(({ id }) => id))}::uuid[],
      ${bareArray(states.map(({ folder_id }) => folder_id))}::uuid[],
      ${bareArray(states.map(({ is_read }) => String(is_read)))}::boolean[]) as state (id, folder_id, is_read)
    where m.id = state.id`)
}

export async function updateMessageLabels(
  tx: Tx,
  { id, inboxId, labels }: { id: string; inboxId: string; labels: readonly string[] },
): Promise<void> {
  await tx.run(sql`update inbox_messages set labels = ${labels} where id = ${id}`)
  await tx.run(sql`delete from message_labels where message_id = ${id} and label <> all(${labels}::text[])`)
  await tx.run(sql`
    insert into message_labels (inbox_id, label, message_id)
    select ${inboxId}, label, ${id} from unnest(${labels}::text[]) as label
    on conflict do nothing`)
}

/** Null: it is what was there before. */
export const updateExtractedData = (tx: Tx, id: string, json: string) =>
  tx.maybe<{ bytes_before: number | null; bytes: number }>(sql`
    update inbox_messages m set extracted_data = ${json}::jsonb
    from (select octet_length(extracted_data::text) as bytes_before from inbox_messages where id = ${id}) before
    where m.id = ${id} and m.extracted_data is distinct from ${json}::jsonb
    returning before.bytes_before, octet_length(m.extracted_data::text) as bytes`)

/** Labels go with them. Their words come second: who writes those of attachments locks the messages first. */
export async function deleteMessageRows(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.run(prepared`delete from inbox_messages where id = any(${bareArray(ids)}::uuid[])`)
  deleteWords(tx, ids)
}

/** Of an inbox that was deleted; answers what sources they had. */
export async function deleteMessagesOfInbox(
  tx: Tx,
  inboxId: string,
  limit: number,
): Promise<{ source_id: string | null }[]> {
  const gone = await tx.many<{ id: string; source_id: string | null }>(sql`
    delete from inbox_messages
    where id in (select id from inbox_messages where inbox_id = ${inboxId} order by id limit ${limit})
    returning id, source_id`)
  deleteWords(
    tx,
    gone.map(({ id }) => id),
  )
  return gone
}

/** Flags of messages that a person has looked at; answers how many. */
export const updateMessagesUntainted = (tx: Tx, threadId: string, limit: number): Promise<number> =>
  tx.run(sql`
    update inbox_messages set is_tainted = false
    where id in (
      select id from inbox_messages where thread_id = ${threadId} and is_tainted order by id limit ${limit})`)
