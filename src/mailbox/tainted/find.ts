// What a new mail is compared with: all that its sender could have read in tainted mail, within bounds.
import type { Db } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import { hasTaintedBefore, listTaintedTexts, listTaintedTextsBeside, type TaintedTexts } from './queries.ts'
import type { Tainted } from './quotes.ts'
import { listRemovedPassages, listRemovedTexts } from './removed-queries.ts'

/** Who sends from the inbox. */
export interface Reader {
  inboxId: string
  tenantId: string
  /** A key that is not confined to the inbox may have read others of the tenant as well. */
  reach: Pick<Reach, 'inboxId'>
  at: Date
}

/** Of mail that came in so long everything is compared, or the new mail waits for a person: a flood must hide nothing. */
const CERTAIN_MS = 30 * 24 * 3_600_000

/** Null: there is more in the inbox than is compared. */
export async function findTainted(db: Db, { inboxId, tenantId, reach, at }: Reader): Promise<Tainted | null> {
  const isWhole = reach.inboxId === null
  const searched = { inboxId, tenantId, isWhole }
  // One after the other, as mail goes: what is deleted or hashed meanwhile is seen twice, and never not at all.
  const [own, others] = await Promise.all([
    listTaintedTexts(db, inboxId),
    isWhole ? listTaintedTextsBeside(db, searched) : [],
  ])
  if (await isCut(db, { inboxId, own, since: new Date(at.getTime() - CERTAIN_MS) })) return null
  const removed = await listRemovedTexts(db, searched)
  const passages = await listRemovedPassages(db, searched)
  return { texts: [...own, ...others, ...removed].flatMap(textsIn), packed: passages.map(row => row.passages) }
}

async function isCut(db: Db, { inboxId, own, since }: { inboxId: string; own: readonly TaintedTexts[]; since: Date }) {
  if (own.some(mail => mail.has_more && mail.received_at >= since)) return true
  const last = own.at(-1)
  return last !== undefined && (await hasTaintedBefore(db, { inboxId, id: last.id, since }))
}

/** A subject or a name that is as long as a passage can carry an order; shorter ones are said by everybody. */
const LINE_WORDS_MIN = 10

export const textsIn = ({ subject, from_text, text, html_text, files }: TaintedTexts): string[] => [
  text,
  ...(html_text === '' ? [] : [html_text]),
  ...files,
  ...[subject, from_text].filter(line => line.split(/\s+/).length >= LINE_WORDS_MIN),
]
