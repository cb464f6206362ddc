// What a new mail is compared with: all that its sender could have read in tainted mail, within bounds.
import type { Db } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import { listTaintedTexts, listTaintedTextsBeside, type TaintedTexts } from './queries.ts'
import type { Tainted } from './quotes.ts'
import { listRemovedPassages, listRemovedTexts } from './removed-queries.ts'

/** Who sends from the inbox. */
export interface Reader {
  inboxId: string
  tenantId: string
  /** A key that is not confined to the inbox may have read others of the tenant as well. */
  reach: Pick<Reach, 'inboxId'>
}

export async function findTainted(db: Db, { inboxId, tenantId, reach }: Reader): Promise<Tainted> {
  const isWhole = reach.inboxId === null
  const searched = { inboxId, tenantId, isWhole }
  // One after the other, as mail goes: what is deleted or hashed meanwhile is seen twice, and never not at all.
  const [own, others] = await Promise.all([
    listTaintedTexts(db, inboxId),
    isWhole ? listTaintedTextsBeside(db, searched) : [],
  ])
  const removed = await listRemovedTexts(db, searched)
  const passages = await listRemovedPassages(db, searched)
  return { texts: [...own, ...others, ...removed].flatMap(textsIn), packed: passages.map(row => row.passages) }
}

/** A subject or a name that is as long as a passage can carry an order; shorter ones are said by everybody. */
const LINE_WORDS_MIN = 10

export const textsIn = ({ subject, from_text, text, html_text, files }: TaintedTexts): string[] => [
  text,
  ...(html_text === '' ? [] : [html_text]),
  ...files,
  ...[subject, from_text].filter(line => line.split(/\s+/).length >= LINE_WORDS_MIN),
]
