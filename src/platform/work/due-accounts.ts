// Which accounts have leased work that is due. For tables with an index on (account_id, due_at): one look into it per account,
// whatever number of rows it has, so an account with many never stands before the others.
import type { Tx } from '../db/database.ts'
import { prepared, sql, type Sql } from '../db/sql.ts'
import { isAsked, type KeysAsked } from './leased-work.ts'

/** A claim shares its limit among so many at the most. */
const ACCOUNTS_MAX = 50

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

/** Of one worker. Keys of such work are accounts, and they are served in turn: an old backlog is no earlier turn. */
export class DueAccounts {
  readonly #table: Sql
  readonly #isOpen: Sql
  /** The last that had its turn. */
  #last = BEFORE_ALL

  /** `isOpen`: as in the condition of the index; without it every row is work. */
  constructor(table: Sql, isOpen: Sql = sql`true`) {
    this.#table = table
    this.#isOpen = isOpen
  }

  /** Those that come after the last ones. */
  async next(tx: Tx, { asked, limit }: { asked: KeysAsked; limit: number }): Promise<string[]> {
    const [table, isOpen] = [this.#table, this.#isOpen]
    const rows = await tx.alongIndexes.many<{ account_id: string }>(prepared`
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
      order by account_id <= ${this.#last}, account_id limit ${Math.min(limit, ACCOUNTS_MAX)}`)
    this.#last = rows.at(-1)?.account_id ?? this.#last
    return rows.map(row => row.account_id)
  }
}
