// What a model is shown of a message: reading only, of ids that were found within the caller's reach.
import type { Db } from '../../platform/db/database.ts'
import { prepared } from '../../platform/db/sql.ts'

export const findAiEnabled = async (db: Db, accountId: string): Promise<boolean> =>
  (await db.maybeValue<boolean>(prepared`select ai_enabled from accounts where id = ${accountId}`)) ?? false

/** Whether a model may read it. Null: it was deleted meanwhile. */
export const findStanding = (db: Db, id: string) =>
  db.maybe<{ is_blocked: boolean; folder_key: string; ai_enabled: boolean }>(prepared`
    select m.is_blocked, f.name_key as folder_key, a.ai_enabled
    from inbox_messages m join folders f on f.id = m.folder_id join accounts a on a.id = m.account_id
    where m.id = ${id} and f.discarded_at is null`)

interface TextBeginnings {
  text: string
  extracted_text: string
  is_text_cut: boolean
  is_extracted_text_cut: boolean
}

/** The first characters of each text: a model is not shown more, and a mail may hold megabytes. */
export const findTextBeginnings = (db: Db, sourceId: string, charsMax: number): Promise<TextBeginnings | null> =>
  db.maybe<TextBeginnings>(prepared`
    select left(text, ${charsMax}::int) as text, left(new_text, ${charsMax}::int) as extracted_text,
      length(text) > ${charsMax}::int as is_text_cut, length(new_text) > ${charsMax}::int as is_extracted_text_cut
    from (select text, coalesce(extracted_text, text) as new_text from source_texts where source_id = ${sourceId}) t`)

export interface AttachedText {
  filename: string | null
  content_type: string
  size: number
  /** Null: not read, not yet judged for this copy of the mail, or there is none. */
  text: string | null
  is_cut: boolean
}

export const listAttachedTexts = (db: Db, sourceId: string, { limit, charsMax }: { limit: number; charsMax: number }) =>
  db.many<AttachedText>(prepared`
    select filename, content_type, size, left(text, ${charsMax}::int) as text,
      coalesce(length(text) > ${charsMax}::int, false) as is_cut
    from (
      select filename, content_type, size, case when text_state = 'done' then text end as text
      from source_attachments where source_id = ${sourceId} order by n limit ${limit}
    ) a`)
