// Reading single messages, their texts, attachments and sources, restricted to the caller's reach.
import type { Db, Reads } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'
import type { RowOf } from '../../platform/db/times.ts'
import { withinInbox, type Reach } from '../../platform/principal.ts'
import { missing } from '../../platform/refusal.ts'
import type { MessageSummary } from './message-schema.ts'

/** What the API calls otherwise. */
type ShownOtherwise = 'read' | 'from' | 'to' | 'cc' | 'bcc' | 'references' | 'tainted'

export interface MessageRow extends Omit<
  RowOf<MessageSummary, 'date' | 'received_at'>,
  ShownOtherwise | 'attachments' | 'attachments_truncated'
> {
  source_id: string | null
  is_read: boolean
  from_text: string
  to_list: string[]
  cc_list: string[]
  bcc_list: string[]
  reference_ids: string[]
  is_blocked: boolean
  is_tainted: boolean
}

/** Of `inbox_messages m join folders f`. */
export const columns = sql`m.id, m.inbox_id, m.thread_id, m.source_id, f.name as folder, m.direction, m.is_read, m.labels,
  m.from_text, m.to_list, m.cc_list, m.bcc_list, m.reply_to, m.subject, m.snippet, m.rfc_message_id, m.in_reply_to,
  m.reference_ids, m.date, m.received_at, m.size, m.auth, m.shield, m.is_blocked, m.is_tainted,
  m.status, m.approval_id, m.message_id, m.extracted_data`

/** A message in a discarded folder or a deleted inbox is gone. */
const reachable = (reach: Reach) =>
  sql`f.discarded_at is null and i.deleted_at is null and ${withinInbox(reach, sql`m`)}`

const joined = sql`inbox_messages m join folders f on f.id = m.folder_id join inboxes i on i.id = m.inbox_id`

export const requireMessage = async (db: Db, reach: Reach, id: string): Promise<MessageRow> =>
  (await db.maybe<MessageRow>(prepared`
    select ${columns} from ${joined} where m.id = ${id} and ${reachable(reach)}`)) ?? missing('message')

/** In no order. Of ids that their caller found within its reach. */
export const listMessageRows = (db: Reads, ids: readonly string[]): Promise<MessageRow[]> =>
  db.many<MessageRow>(prepared`
    select ${columns} from inbox_messages m join folders f on f.id = m.folder_id and f.discarded_at is null
    where m.id = any(${ids}::uuid[])`)

export interface AttachmentRow {
  source_id: string
  id: string
  filename: string | null
  content_type: string
  size: number
  content_id: string | null
  is_inline: boolean
}

/** The first of each source, in their order. */
export const listAttachments = (db: Reads, sourceIds: readonly string[], perSource: number): Promise<AttachmentRow[]> =>
  db.many<AttachmentRow>(prepared`
    select a.source_id, a.id, a.filename, a.content_type, a.size, a.content_id, a.is_inline
    from unnest(${bareArray(sourceIds)}::uuid[]) as source (id) cross join lateral (
      select source_id, id, n, filename, content_type, size, content_id, is_inline from source_attachments
      where source_id = source.id order by n limit ${perSource}
    ) a
    order by a.source_id, a.n`)

export interface TextRow {
  text: string
  html: string | null
  extracted_text: string
  notes: string[]
}

export const findTexts = (db: Db, sourceId: string): Promise<TextRow | null> =>
  db.maybe<TextRow>(
    prepared`
    select text, html, coalesce(extracted_text, text) as extracted_text, notes
    from source_texts where source_id = ${sourceId}`,
  )

/** How much of the source there is, and the field that is shown above it. */
export const findSource = (db: Db, sourceId: string) =>
  db.maybe<{ bytes: number; authentication_results: string }>(prepared`
    select octet_length(s.content) as bytes, coalesce(t.authentication_results, '') as authentication_results
    from mail_sources s left join source_texts t on t.source_id = s.id where s.id = ${sourceId}`)

/** The bytes are stored uncompressed, so that a slice costs what it holds. */
export const findSourceSlice = (
  db: Db,
  { sourceId, offset, bytes }: { sourceId: string; offset: number; bytes: number },
): Promise<{ slice: Buffer } | null> =>
  db.maybe(prepared`
    select substring(content from ${offset + 1}::int for ${bytes}::int) as slice from mail_sources where id = ${sourceId}`)
