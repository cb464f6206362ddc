// What a new mail is compared with: all that its sender could have read in tainted mail, within bounds.
import type { Db } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import { listTaintedTexts, listTaintedTextsBeside, type TaintedTexts } from './queries.ts'

/** Who sends from the inbox. */
export interface Reader {
  inboxId: string
  tenantId: string
  /** A key that is not confined to the inbox may have read others of the tenant as well. */
  reach: Pick<Reach, 'inboxId'>
}

export async function listComparedTexts(db: Db, reader: Reader): Promise<string[]> {
  const [own, others] = await Promise.all([
    listTaintedTexts(db, reader.inboxId),
    reader.reach.inboxId === null ? listTaintedTextsBeside(db, reader) : [],
  ])
  return [...own, ...others].flatMap(textsIn)
}

/** A subject or a name that is as long as a passage can carry an order; shorter ones are said by everybody. */
const LINE_WORDS_MIN = 10

const textsIn = ({ subject, from_text, text, html_text, files }: TaintedTexts): string[] => [
  text,
  ...(html_text === '' ? [] : [html_text]),
  ...files,
  ...[subject, from_text].filter(line => line.split(/\s+/).length >= LINE_WORDS_MIN),
]
