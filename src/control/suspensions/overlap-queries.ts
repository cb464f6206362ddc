// Counting what other pauses keep of the mail that a pause holds, before any of it is moved. Reads the queue and the messages.
import type { Tx } from '../../platform/db/database.ts'
import { all, any, sql, type Sql } from '../../platform/db/sql.ts'
import { conditionsOf, type PauseScope } from './scopes.ts'

/** More than these are counted in pages, so that no statement runs into its time limit. */
const PAGE_ROWS = 300_000

/** Where this many are held, their messages are read together, unless they lie far apart among others of the account. */
const MANY_ROWS = 5_000
/** How many rows are looked at to tell that, at the beginning and at the end. */
const SAMPLE_ROWS = 1_000
const MESSAGES_PER_ROW_MAX = 4

interface Counting {
  accountId: string
  /** The pauses whose mail is counted. */
  sources: readonly string[]
  others: readonly PauseScope[]
  /** About how much they hold. */
  held: number
}

/** How much of it one of the others matches. One scan where it can be: a resume waits for it. */
export async function countKept(tx: Tx, { accountId, sources, others, held }: Counting): Promise<number> {
  const conditions = conditionsOf(others)
  let kept = 0
  for (const source of sources) {
    const range =
      held >= MANY_ROWS && conditions.ofMessage.length > 0 ? await findRange(tx, { accountId, source }) : null
    // The planner knows nothing of rows that have only just been marked, and would look up each message by itself.
    if (range) await tx.run(sql`set local enable_nestloop = off`)
    let after: string | null = null
    do {
      const end: string | null = held > PAGE_ROWS ? await findPageEnd(tx, source, after) : null
      const page = all([
        sql`q.suspension_id = ${source} and q.status = 'held'`,
        after !== null && sql`q.message_id > ${after}`,
        end !== null && sql`q.message_id <= ${end}`,
      ])
      const counting = range ? countedTogether(page, conditions, range) : countedByMessage(page, conditions)
      kept += await tx.value<number>(counting)
      after = end
    } while (after !== null)
    if (range) await tx.run(sql`set local enable_nestloop = on`)
  }
  return kept
}

type Conditions = ReturnType<typeof conditionsOf>

/** Each message is looked up once, whatever number of its recipients are held. */
const countedByMessage = (page: Sql, { ofRow, ofMessage }: Conditions): Sql =>
  ofMessage.length === 0
    ? sql`select count(*) as count from queue q where ${page} and ${any(ofRow)}`
    : sql`
      select coalesce(sum(case when ${any(ofMessage)} then held.rows else held.matched end), 0)::bigint as count
      from (
        select q.message_id, count(*) as rows, count(*) filter (where ${any([...ofRow, sql`false`])}) as matched
        from queue q where ${page} group by q.message_id
      ) held join messages m on m.id = held.message_id`

/** The messages of the range are read once, in the order in which they lie. */
const countedTogether = (page: Sql, { ofRow, ofMessage }: Conditions, range: Sql): Sql =>
  sql`select count(*) as count from queue q where ${page} and ${any([
    ...ofRow,
    sql`q.message_id in (select m.id from messages m where ${range} and ${any(ofMessage)})`,
  ])}`

/** From the first held message to the last; null where many others of the account lie between them. */
async function findRange(tx: Tx, { accountId, source }: { accountId: string; source: string }): Promise<Sql | null> {
  const ids = sql`select message_id from queue where suspension_id = ${source} and status = 'held' order by message_id`
  const found = await tx.one<Record<'first' | 'second' | 'third' | 'last', string | null>>(sql`
    select (${ids} limit 1) as first, (${ids} offset ${SAMPLE_ROWS} limit 1) as second,
      (${ids} desc offset ${SAMPLE_ROWS} limit 1) as third, (${ids} desc limit 1) as last`)
  const { first, second, third, last } = found
  if (first === null || second === null || third === null || last === null) return null
  const between = (from: string, to: string): Sql => sql`m.account_id = ${accountId} and m.id between ${from} and ${to}`
  const messagesMax = SAMPLE_ROWS * MESSAGES_PER_ROW_MAX
  for (const sample of [between(first, second), between(third, last)]) {
    const count = await tx.value<number>(
      sql`select count(*) from (select from messages m where ${sample} limit ${messagesMax + 1}) found`,
    )
    if (count > messagesMax) return null
  }
  return between(first, last)
}

/** Null when what follows is less than a page. */
const findPageEnd = (tx: Tx, source: string, after: string | null): Promise<string | null> =>
  tx.maybeValue<string>(sql`
    select message_id from queue
    where ${all([sql`suspension_id = ${source} and status = 'held'`, after !== null && sql`message_id > ${after}`])}
    order by message_id, n offset ${PAGE_ROWS} limit 1`)
