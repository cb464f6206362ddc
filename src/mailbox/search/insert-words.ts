// The words of new messages, stored with them; of those whose attachments were read later; and of those that go.
import type { Tx } from '../../platform/db/database.ts'
export { deleteWords } from './queries.ts'
import { listMessagesOfSource, upsertSameWords, upsertWords, type MessageWords } from './queries.ts'
import { firstWords } from './vector.ts'

/**
 * Of one mail, in bytes and over all inboxes that it is filed in at once. Each word is an entry in the index: a mail of
 * 20,000 words for a hundred inboxes would keep a transaction, and all mail behind it, for seconds.
 */
export const MAIL_WORDS_MAX = 2 * 1024 * 1024
/** In bytes: a statement must not take seconds. */
const STATEMENT_WORDS_MAX = 1024 * 1024

interface FiledWords extends MessageWords {
  /** The same object where a mail is filed in several inboxes. */
  mail: object
}

/** With the messages, in their transaction. */
export function insertWords(tx: Tx, filed: readonly FiledWords[]): void {
  const inboxes = new Map<object, number>()
  for (const { mail } of filed) inboxes.set(mail, (inboxes.get(mail) ?? 0) + 1)
  let slice: MessageWords[] = []
  let bytes = 0
  for (const { mail, ...row } of filed) {
    const words = firstWords(row.words, Math.floor(MAIL_WORDS_MAX / inboxes.get(mail)!))
    if (slice.length > 0 && bytes + words.length > STATEMENT_WORDS_MAX) {
      upsertWords(tx, slice)
      slice = []
      bytes = 0
    }
    slice.push({ ...row, words })
    bytes += words.length
  }
  if (slice.length > 0) upsertWords(tx, slice)
}

/** Words of a long attachment are 20,000 entries in the index for each message: so many get them in one transaction. */
export const MESSAGES_AT_ONCE = 5

/**
 * Of the next messages, in the order of their ids, that were filed from this source. All of them say the same, so their words
 * are the same too. Answers their ids.
 */
export async function replaceWords(
  tx: Tx,
  { sourceId, words, after }: { sourceId: string; words: Uint8Array; after: string | null },
): Promise<string[]> {
  const messages = await listMessagesOfSource(tx, sourceId, { after, limit: MESSAGES_AT_ONCE })
  if (messages.length > 0) upsertSameWords(tx, messages, words)
  return messages.map(({ id }) => id)
}

/** Of those that were filed while the others got theirs. False: too many for one transaction. */
export async function replaceMissingWords(
  tx: Tx,
  { sourceId, words, written }: { sourceId: string; words: Uint8Array; written: ReadonlySet<string> },
): Promise<boolean> {
  const messages = await listMessagesOfSource(tx, sourceId, { after: null, limit: null })
  const missing = messages.filter(({ id }) => !written.has(id))
  if (missing.length > MESSAGES_AT_ONCE) return false
  if (missing.length > 0) upsertSameWords(tx, missing, words)
  return true
}
