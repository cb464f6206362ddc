// What is read of a message that is answered or forwarded. Its id was found within the caller's reach.
import type { Db } from '../../platform/db/database.ts'
import { prepared } from '../../platform/db/sql.ts'

export const findThreadTaint = (db: Db, threadId: string): Promise<{ is_tainted: boolean }> =>
  db.one(prepared`select is_tainted from threads where id = ${threadId}`)

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
    select filename, content_type, content_id, is_inline, content from source_attachments where id = ${id}`)

export const findSourceContent = (db: Db, sourceId: string, bytesMax: number): Promise<{ content: Buffer }> =>
  db.one(prepared`
    select substring(content from 1 for ${bytesMax}::int) as content from mail_sources where id = ${sourceId}`)

/** Tainted mail of an inbox, the newest first: what a new mail may not quote unseen. */
const QUOTABLE_MAX = 200
const QUOTABLE_CHARS_MAX = 20_000

export const listTaintedTexts = (db: Db, inboxId: string): Promise<{ id: string; text: string }[]> =>
  db.many(prepared`
    select m.id, left(t.text, ${QUOTABLE_CHARS_MAX}) as text
    from (select id, source_id from inbox_messages
      where inbox_id = ${inboxId} and is_tainted and direction = 'in' and source_id is not null
      order by id desc limit ${QUOTABLE_MAX}) m
    join source_texts t on t.source_id = m.source_id`)

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
