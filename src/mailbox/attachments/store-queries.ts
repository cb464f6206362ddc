// The SQL that stores attachments.
import type { Tx } from '../../platform/db/database.ts'
import { commaSeparated, sql } from '../../platform/db/sql.ts'
import { storableText } from '../storable.ts'
import type { ParsedAttachment } from '../../mail/mime/parsed-mail.ts'

export interface AttachmentRow extends Omit<ParsedAttachment, 'inline'> {
  id: string
  n: number
  isInline: boolean
}

/** One bound value per attachment: an array of them would travel as text, twice as long. */
export async function insertAttachments(
  tx: Tx,
  { sourceId, accountId }: { sourceId: string; accountId: string },
  attachments: readonly AttachmentRow[],
): Promise<void> {
  if (attachments.length === 0) return
  const rows = attachments.map(
    each => sql`(${each.id}::uuid, ${sourceId}::uuid, ${accountId}::uuid, ${each.n}::integer,
      ${each.filename && storableText(each.filename)}::text, ${storableText(each.contentType)}::text, ${each.typeParams}::text,
      ${each.contentId && storableText(each.contentId)}::text, ${each.isInline}::boolean, ${each.content.length}::integer,
      ${each.content}::bytea, ${tx.now}::timestamptz)`,
  )
  await tx.run(sql`
    insert into source_attachments (id, source_id, account_id, n, filename, content_type, type_params, content_id, is_inline,
      size, content, due_at)
    values ${commaSeparated(rows)}
    on conflict (source_id, n) do nothing`)
}
