// Storing the attachments of a source; their text is read by a worker later.
import type { ParsedAttachment } from '../../mail/mime/parsed-mail.ts'
import type { Tx } from '../../platform/db/database.ts'
import { insertAttachmentRows } from './store-queries.ts'

export interface AttachmentRow extends Omit<ParsedAttachment, 'inline'> {
  id: string
  n: number
  isInline: boolean
}

export async function insertAttachments(
  tx: Tx,
  owner: { sourceId: string; accountId: string },
  attachments: readonly AttachmentRow[],
): Promise<void> {
  if (attachments.length > 0) await insertAttachmentRows(tx, owner, attachments)
}
