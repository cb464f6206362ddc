// Storing sources of mail and what was read in them: the bytes when a mail comes, the texts when it is filed.
import type { Tx } from '../../platform/db/database.ts'
import { insertAttachments, type AttachmentRow } from '../attachments/store.ts'
import { lockSource } from './queries.ts'
import { insertSourceTexts, sendSourceTexts } from './store-queries.ts'

export { insertSources } from './store-queries.ts'

export interface SourceText {
  sourceId: string
  /** The account that the text of attachments is extracted for. */
  accountId: string
  authenticationResults: string
  text: string
  html: string | null
  /** Of mail that was received: what its HTML shows and hides besides the text. */
  htmlText: string | null
  extractedText: string
  notes: readonly string[]
  attachments: readonly AttachmentRow[]
}

/** Does nothing where they are stored: two accounts may file one source at the same time. */
export async function storeTexts(tx: Tx, texts: readonly SourceText[]): Promise<void> {
  if (texts.length === 0) return
  const inserted = new Set((await insertSourceTexts(tx, texts)).map(({ source_id }) => source_id))
  for (const { sourceId, accountId, attachments } of texts) {
    if (inserted.has(sourceId)) await insertAttachments(tx, { sourceId, accountId }, attachments)
  }
}

/**
 * Before the transaction that files the mail, which says whose it is. A worker that stood still while another one filed it may
 * come when its source is removed already.
 */
export async function storeTextsAhead(tx: Tx, texts: SourceText): Promise<void> {
  if (await lockSource(tx, texts.sourceId)) await storeTexts(tx, [texts])
}

/** Of sources that are stored in the same transaction, so that nobody else can have stored them. */
export async function storeNewTexts(tx: Tx, texts: readonly SourceText[]): Promise<void> {
  sendSourceTexts(tx, texts)
  for (const { sourceId, accountId, attachments } of texts) {
    await insertAttachments(tx, { sourceId, accountId }, attachments)
  }
}
