// Accounts that a tail leaves behind, because their share of a round would cost the others too much. Each has a cursor of its
// own, and its events up to where the tail has come are worked off in slices, account by account.
import type { Tx } from '../db/database.ts'
import { bareArray, prepared, type Sql } from '../db/sql.ts'

interface Backlog {
  account_id: string
  cursor: number
  up_to: number
}

/** Over a table of `account_id`, `cursor` and `served_at`, which is when it last had a slice, or was put there. */
export class Backlogs {
  readonly #table: Sql
  readonly #tail: string

  constructor(table: Sql, tail: string) {
    this.#table = table
    this.#tail = tail
  }

  /** Only the tail puts accounts here and takes them away, under the lock of its cursor. */
  insert(tx: Tx, accountIds: readonly string[], after: number): Promise<number> {
    return tx.run(prepared`
      insert into ${this.#table} (account_id, cursor, served_at)
      select account_id, ${after}, ${tx.now} from unnest(${bareArray(accountIds)}::uuid[]) as account_id`)
  }

  /** Of accounts that have caught up with the tail. One that is having a slice now stays: its cursor may be moving. */
  deleteSettled(tx: Tx, after: number): Promise<number> {
    return tx.run(prepared`
      delete from ${this.#table} where account_id in (
        select account_id from ${this.#table} where cursor >= ${after} for update skip locked)`)
  }

  /**
   * The account that has waited longest, locked. While the row stands the tail leaves the account's events alone, so they
   * are the slices' up to where the tail has come.
   */
  claim(tx: Tx): Promise<Backlog | null> {
    return tx.maybe<Backlog>(prepared`
      select b.account_id, b.cursor, t.cursor as up_to
      from ${this.#table} b join tails t on t.name = ${this.#tail} and t.cursor > b.cursor
      order by b.served_at, b.account_id limit 1 for update of b skip locked`)
  }

  update(tx: Tx, accountId: string, cursor: number): Promise<number> {
    return tx.run(prepared`
      update ${this.#table} set cursor = ${cursor}, served_at = ${tx.now} where account_id = ${accountId}`)
  }
}
