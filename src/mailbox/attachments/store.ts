// Storing the attachments of a source; their text is read by a worker later.
import type { Tx } from '../../platform/db/database.ts'
import { insertAttachmentRows } from './store-queries.ts'

export interface AttachmentRow {
  id: string
  n: number
  filename: string | null
  contentType: string
  typeParams: string | null
  contentId: string | null
  isInline: boolean
  content: Buffer
}

export async function insertAttachments(
  tx: Tx,
  owner: { sourceId: string; accountId: string },
  attachments: readonly AttachmentRow[],
): Promise<void> {
  if (attachments.length > 0) await insertAttachmentRows(tx, owner, attachments)
}
