// What tools need to know of messages beside what the API shows. The ids were found within the caller's reach.
import type { Reads } from '../../platform/db/database.ts'
import { bareArray, prepared } from '../../platform/db/sql.ts'

/**
 * The beginning of the text that was read in each attachment; those without any are left out. None where the message is
 * blocked by now, or gone: what is found in a text may block its mail. Nor one that was read for another copy of the mail and
 * not yet judged for this one.
 */
export const listAttachmentTexts = (
  db: Reads,
  { messageId, ids, charsMax }: { messageId: string; ids: readonly string[]; charsMax: number },
): Promise<{ id: string; text: string; is_whole: boolean }[]> =>
  db.many(prepared`
    select id, left(text, ${charsMax}::int) as text, length(text) <= ${charsMax}::int as is_whole
    from source_attachments where id = any(${bareArray(ids)}::uuid[]) and text is not null and text_state = 'done'
      and exists (select from inbox_messages where id = ${messageId} and not is_blocked)`)
