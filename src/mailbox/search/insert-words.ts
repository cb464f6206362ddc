// The words of new messages, stored with them; and of those whose attachments were read later.
import type { Tx } from '../../platform/db/database.ts'
import { listMessagesOfSource, upsertSameWords, upsertWords, type MessageWords } from './queries.ts'

/** With the messages, in their transaction. */
export function insertWords(tx: Tx, rows: readonly MessageWords[]): void {
  if (rows.length > 0) upsertWords(tx, rows)
}

/** Words of a long attachment are 20,000 entries in the index for each message: a statement must not take seconds. */
const MESSAGES_PER_STATEMENT = 5

/** Of every message that was filed from this source: all of them say the same, so their words are the same too. */
export async function replaceWords(tx: Tx, { sourceId, words }: { sourceId: string; words: string }): Promise<void> {
  const messages = await listMessagesOfSource(tx, sourceId)
  for (let start = 0; start < messages.length; start += MESSAGES_PER_STATEMENT)
    await upsertSameWords(tx, messages.slice(start, start + MESSAGES_PER_STATEMENT), words)
}
