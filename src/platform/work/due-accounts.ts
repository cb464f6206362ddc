// Which accounts have leased work that is due. For tables with an index on (account_id, due_at): one look into it per account,
// whatever number of rows it has, so an account with many never stands before the others.
import type { Tx } from '../db/database.ts'
import { prepared, sql, type Sql } from '../db/sql.ts'
import { isAsked, type KeysAsked } from './leased-work.ts'

/** A claim shares its limit among so many at the most; the next one goes on with those that have waited longest then. */
const ACCOUNTS_MAX = 50

interface DueRows {
  table: Sql
  /** As in the condition of the index; without it every row is work. */
  isOpen?: Sql
  asked: KeysAsked
  limit: number
}

/** The one whose work has been due longest first. Keys of such work are accounts. */
export async function listDueAccounts(tx: Tx, { table, isOpen = sql`true`, asked, limit }: DueRows): Promise<string[]> {
  const rows = await tx.many<{ account_id: string }>(prepared`
    with recursive account as (
      (select account_id from ${table} where ${isOpen} order by account_id limit 1)
      union all
      select (select r.account_id from ${table} r
        where ${isOpen} and r.account_id > account.account_id order by r.account_id limit 1)
      from account where account.account_id is not null
    )
    select account_id from account cross join lateral (
      select due_at from ${table} r where r.account_id = account.account_id and ${isOpen} order by due_at limit 1
    ) oldest
    where due_at <= ${tx.now} and ${isAsked(asked, { key: sql`account_id`, account: sql`account_id` })}
    order by due_at limit ${Math.min(limit, ACCOUNTS_MAX)}`)
  return rows.map(row => row.account_id)
}
