// What is read of a message that is answered or forwarded. Its id was found within the caller's reach.
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { isLookedUpBy } from '../../platform/db/planner.ts'
import { prepared, sql, type Sql } from '../../platform/db/sql.ts'

/** Of those that still stand, also where one has become part of another. */
export const listThreadTaints = (tx: Tx, ids: readonly string[]): Promise<{ id: string; is_tainted: boolean }[]> =>
  tx.many(prepared`
    select t.id, t.is_tainted or coalesce(whole.is_tainted, false) as is_tainted
    from threads t left join threads whole on whole.id = t.merged_into
    where t.id = any(${ids}::uuid[])`)

/** Null: it went with its last message. It may have become part of another one since its id was read. */
export const findThreadTaint = (db: Db, threadId: string): Promise<{ is_tainted: boolean } | null> =>
  db.maybe(prepared`
    select whole.is_tainted from threads t join threads whole on whole.id = coalesce(t.merged_into, t.id)
    where t.id = ${threadId}`)

interface StandingThread {
  /** The one that was asked for may have become part of this one. */
  id: string
  asked_id: string
  subject: string
  is_tainted: boolean
}

/** Of these, those that still have a message. */
export const listStandingThreads = (db: Reads, ids: readonly string[]): Promise<StandingThread[]> =>
  db.many<StandingThread>(prepared`
    select whole.id, t.id as asked_id, whole.subject, whole.is_tainted
    from threads t join threads whole on ${isLookedUpBy(sql`whole.id`, sql`coalesce(t.merged_into, t.id)`)}
    where t.id = any(${ids}::uuid[])`)

/** What a file costs besides its content. */
const FILE_BYTES = 1_000

/**
 * What is quoted of a message, told without reading it: its texts. A mail without them goes as a file where it is forwarded.
 */
export const quotedBytes = (messageId: Sql): Sql => sql`(
  select case when coalesce(octet_length(t.text), 0) = 0 and t.html is null then coalesce(s.size, 0)
    else octet_length(t.text) + coalesce(octet_length(t.html), 0) end
  from inbox_messages m left join mail_sources s on s.id = m.source_id left join source_texts t on t.source_id = m.source_id
  where m.id = ${messageId})`

/** The same of what is forwarded: texts and files. */
export const forwardedBytes = (messageId: Sql): Sql => sql`(${quotedBytes(messageId)} + (
  select coalesce(sum(a.size + ${FILE_BYTES}::int), 0)::int
  from inbox_messages m join source_attachments a on a.source_id = m.source_id where m.id = ${messageId}))`

/** Zero where there is no such message. */
export const findOriginalBytes = async (
  db: Db,
  { id, isForwarded }: { id: string; isForwarded: boolean },
): Promise<number> => {
  const bytes = isForwarded ? forwardedBytes(sql`${id}::uuid`) : quotedBytes(sql`${id}::uuid`)
  return (await db.one<{ bytes: number }>(sql`select coalesce(${bytes}, 0) as bytes`)).bytes
}

/** More than a mail may have. */
const ATTACHMENTS_MAX = 2_000

export const listAttachmentSizes = (db: Db, sourceId: string): Promise<{ id: string; size: number }[]> =>
  db.many(prepared`
    select id, size from source_attachments where source_id = ${sourceId} order by n limit ${ATTACHMENTS_MAX}`)

interface StoredFile {
  filename: string | null
  content_type: string
  content_id: string | null
  is_inline: boolean
  content: Buffer
}

export const findAttachment = (db: Db, id: string): Promise<StoredFile | null> =>
  db.maybe<StoredFile>(prepared`
    select filename, concat(content_type, type_params) as content_type, content_id, is_inline, content
    from source_attachments where id = ${id}`)

export const findSourceContent = (db: Db, sourceId: string, bytesMax: number): Promise<{ content: Buffer } | null> =>
  db.maybe(prepared`
    select substring(content from 1 for ${bytesMax}::int) as content from mail_sources where id = ${sourceId}`)

/** Threads that a new mail with this subject may join. */
export const listTaintedSubjects = (
  db: Db,
  { inboxId, subjectKey, since }: { inboxId: string; subjectKey: string; since: Date },
): Promise<{ participants: string[] }[]> =>
  db.many(prepared`
    select participants from threads
    where inbox_id = ${inboxId} and subject_key = ${subjectKey} and merged_into is null and is_tainted
      and last_message_at >= ${since}
    order by last_message_at desc limit 20`)
