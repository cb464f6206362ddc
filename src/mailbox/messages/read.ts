// Reading one message.
import { escapeHtml } from '../../mail/text/escape-html.ts'
import type { Db } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import type { Message } from './message-schema.ts'
import { presentMessage } from './present.ts'
import { findTexts, listAttachments, requireMessage } from './queries.ts'

/** More than a mail may have. */
const ATTACHMENTS_MAX = 2_000

export async function readMessage(db: Db, reach: Reach, id: string): Promise<Message> {
  const row = await requireMessage(db, reach, id)
  if (row.source_id === null) return presentMessage(row, null, [])
  const [texts, attachments] = await Promise.all([
    findTexts(db, row.source_id),
    listAttachments(db, [row.source_id], ATTACHMENTS_MAX),
  ])
  return presentMessage(row, texts, attachments)
}

/** What a page may show: the sanitised HTML, or the text of mail without any. Null when nothing could be read. */
export async function readHtml(db: Db, reach: Reach, id: string): Promise<{ id: string; html: string | null }> {
  const row = await requireMessage(db, reach, id)
  const texts = row.source_id === null ? null : await findTexts(db, row.source_id)
  return {
    id: row.id,
    html: texts && (texts.html ?? `<pre style="white-space:pre-wrap">${escapeHtml(texts.text)}</pre>`),
  }
}
