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

export const listAttachmentTexts = (db: Reads, sourceIds: readonly string[]): Promise<ShownText[]> =>
  db.many<ShownText>(prepared`
    select a.source_id, a.text from unnest(${bareArray(sourceIds)}::uuid[]) as wanted (source_id) cross join lateral (
      select source_id, left(text, ${SHOWN_CHARS_MAX}) as text from source_attachments
      where source_id = wanted.source_id and text is not null
      order by n limit ${SHOWN_ATTACHMENTS_MAX}
    ) a`)
