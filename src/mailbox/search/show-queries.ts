// What a search shows of the messages that it found.
import type { Reads } from '../../platform/db/database.ts'
import { bareArray, prepared } from '../../platform/db/sql.ts'

/** Why a message was found is looked for in so much of its text; further down, its beginning is shown instead. */
const SHOWN_CHARS_MAX = 16_000
/** Of one message. */
const SHOWN_ATTACHMENTS_MAX = 5

interface ShownText {
  source_id: string
  text: string
}

export const listTexts = (db: Reads, sourceIds: readonly string[]): Promise<ShownText[]> =>
  db.many<ShownText>(prepared`
    select source_id, left(text, ${SHOWN_CHARS_MAX}) as text from source_texts
    where source_id = any(${bareArray(sourceIds)}::uuid[])`)

/** Of those for which a message was blocked since it was found: none. What is found in a text may block its mail. */
export const listAttachmentTexts = (
  db: Reads,
  found: readonly { id: string; source_id: string; is_blocked: boolean }[],
): Promise<ShownText[]> =>
  db.many<ShownText>(prepared`
    select a.source_id, a.text
    from unnest(${bareArray(found.map(row => row.id))}::uuid[], ${bareArray(found.map(row => row.source_id))}::uuid[],
      ${bareArray(found.map(row => String(row.is_blocked)))}::boolean[]) as found (id, source_id, was_blocked)
    cross join lateral (
      select from inbox_messages m where m.id = found.id and m.is_blocked = found.was_blocked offset 0
    ) standing
    cross join lateral (
      select source_id, left(text, ${SHOWN_CHARS_MAX}) as text from source_attachments
      where source_id = found.source_id and text is not null and text_state = 'done'
      order by n limit ${SHOWN_ATTACHMENTS_MAX}
    ) a`)
