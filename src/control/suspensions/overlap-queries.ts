// Counting what other pauses keep of the mail that a pause holds, before any of it is moved. Reads the queue and the messages.
import type { Tx } from '../../platform/db/database.ts'
import { all, any, sql, type Sql } from '../../platform/db/sql.ts'
import { conditionsOf, type PauseScope } from './scopes.ts'

/** More than these are counted in pages, so that no statement runs into its time limit. */
const PAGE_ROWS = 300_000

/** Where this many are held, and no more than so many messages of the account lie between their first and their last… */
const MANY_ROWS = 5_000
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
  const { ofRow, ofMessage } = conditionsOf(others)
  let kept = 0
  for (const source of sources) {
    const messages = ofMessage.length === 0 ? null : await messagesOf(tx, { accountId, source, held })
    let after: string | null = null
    do {
      const end: string | null = held > PAGE_ROWS ? await findPageEnd(tx, source, after) : null
      const page = all([
        sql`q.suspension_id = ${source} and q.status = 'held'`,
        after !== null && sql`q.message_id > ${after}`,
        end !== null && sql`q.message_id <= ${end}`,
      ])
      // By message: each is looked up once, whatever number of its recipients are held.
      const { count } = await tx.one<{ count: number }>(
        ofMessage.length === 0
          ? sql`select count(*) as count from queue q where ${page} and ${any(ofRow)}`
          : sql`
            select coalesce(sum(case when ${any(ofMessage)} then held.rows else held.matched end), 0)::bigint as count
            from (
              select q.message_id, count(*) as rows, count(*) filter (where ${any([...ofRow, sql`false`])}) as matched
              from queue q where ${page} group by q.message_id
            ) held join ${messages ?? sql`messages`} m on m.id = held.message_id`,
      )
      kept += count
      after = end
    } while (after !== null)
    if (messages) await tx.run(sql`set local enable_nestloop = on`)
  }
  return kept
}

/**
 * …then those messages are read in one go, in their order. Looking up each by itself takes four times as long, and is what the
 * planner would do: it knows nothing of rows that have only just been marked. Null: each is looked up.
 */
async function messagesOf(
  tx: Tx,
  { accountId, source, held }: Pick<Counting, 'accountId' | 'held'> & { source: string },
): Promise<Sql | null> {
  if (held < MANY_ROWS) return null
  const ids = sql`select message_id from queue where suspension_id = ${source} and status = 'held' order by message_id`
  const { first, last } = await tx.one<{ first: string | null; last: string | null }>(sql`
    select (${ids} limit 1) as first, (${ids} desc limit 1) as last`)
  if (first === null || last === null) return null
  const between = sql`from messages where account_id = ${accountId} and id >= ${first} and id <= ${last}`
  const messagesMax = held * MESSAGES_PER_ROW_MAX
  const { count } = await tx.one<{ count: number }>(sql`
    select count(*) as count from (select ${between} limit ${messagesMax + 1}) found`)
  if (count > messagesMax) return null
  await tx.run(sql`set local enable_nestloop = off`)
  return sql`(select * ${between} offset 0)`
}

/** Null when what follows is less than a page. */
async function findPageEnd(tx: Tx, source: string, after: string | null): Promise<string | null> {
  const row = await tx.maybe<{ message_id: string }>(sql`
    select message_id from queue
    where ${all([sql`suspension_id = ${source} and status = 'held'`, after !== null && sql`message_id > ${after}`])}
    order by message_id, n offset ${PAGE_ROWS} limit 1`)
  return row && row.message_id
}
