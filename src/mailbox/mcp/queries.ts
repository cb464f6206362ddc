// What tools need to know of messages beside what the API shows. The ids were found within the caller's reach.
import type { Reads } from '../../platform/db/database.ts'
import { bareArray, prepared } from '../../platform/db/sql.ts'

export const listBlocked = (db: Reads, ids: readonly string[]): Promise<{ id: string }[]> =>
  db.many(prepared`select id from inbox_messages where id = any(${bareArray(ids)}::uuid[]) and is_blocked`)

/** The beginning of the text that was read in each attachment; those without any are left out. */
export const listAttachmentTexts = (
  db: Reads,
  { ids, charsMax }: { ids: readonly string[]; charsMax: number },
): Promise<{ id: string; text: string; is_whole: boolean }[]> =>
  db.many(prepared`
    select id, left(text, ${charsMax}::int) as text, length(text) <= ${charsMax}::int as is_whole
    from source_attachments where id = any(${bareArray(ids)}::uuid[]) and text is not null`)
