// Accounts that a tail leaves behind, because their share of a round would cost the others too much. Each has a cursor of its
// own, and its events up to where the tail has come are worked off in slices, account by account.
import { setTimeout as delay } from 'node:timers/promises'
import { system } from '../db/actor.ts'
import type { Db, Tx } from '../db/database.ts'
import { RowLimit } from '../db/row-limit.ts'
import { bareArray, prepared, type Sql } from '../db/sql.ts'
import type { World } from '../world.ts'
import type { Due } from './worker.ts'

/** Between two slices, at the most; it is as long as the slice took, so that others have half of the database at least. */
const REST_MS_MAX = 250
/** Before the next slice when this one came to a lock. */
const LOCKED_REST_MS = 50

interface Backlog {
  accountId: string
  /** Its events after this one are left, up to where the tail has come. */
  after: number
  upTo: number
}

interface Slices {
  name: string
  /** Of a slice, learned from how long the last ones took. */
  rows: { min: number; max: number }
  /** A crash of the database may undo a light slice although it was committed: what it wrote and its cursor go together. */
  transactions: 'durable' | 'light'
  /** Works off the first of these events, and answers how far it came. */
  take(tx: Tx, backlog: Backlog, rowsMax: number): Promise<{ cursor: number; isLocked?: boolean }>
  /** After the commit. */
  taken?(world: World): void
}

/** Which accounts a tail serves in a round, by the size of what each has: the smallest first, as many as fit. */
export function shareOut(sizes: ReadonlyMap<string, number>, sizeMax: number): { direct: string[]; behind: string[] } {
  const direct: string[] = []
  const behind: string[] = []
  let total = 0
  for (const [accountId, size] of [...sizes].toSorted(([, one], [, other]) => one - other)) {
    if (total + size > sizeMax) behind.push(accountId)
    else {
      total += size
      direct.push(accountId)
    }
  }
  return { direct, behind }
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

  /** Null for an account that is not behind the tail. */
  findCursor(db: Db, accountId: string): Promise<number | null> {
    return db.maybeValue<number>(prepared`select cursor from ${this.#table} where account_id = ${accountId}`)
  }

  /** Gives the accounts their slices in turn. */
  worker({ name, rows, transactions, take, taken }: Slices): Due {
    const limit = new RowLimit(rows)
    const by = system(this.#tail)
    const slice = async (tx: Tx, rowsMax: number): Promise<{ isLocked?: boolean } | null> => {
      const backlog = await this.#claim(tx)
      if (!backlog) return null
      const { cursor, ...how } = await take(tx, backlog, rowsMax)
      await this.#update(tx, backlog.accountId, cursor)
      return how
    }
    const run = async (world: World, signal: AbortSignal): Promise<number> => {
      const began = performance.now()
      const recipe = (tx: Tx) => limit.learn(rowsMax => slice(tx, rowsMax))
      const done = await (transactions === 'light'
        ? world.db.transactLightly(by, recipe)
        : world.db.transact(by, recipe))
      if (!done) return 0
      taken?.(world)
      const restMs = done.isLocked ? LOCKED_REST_MS : Math.min(performance.now() - began, REST_MS_MAX)
      await delay(restMs, null, { signal }).catch(() => {})
      return 1
    }
    return { kind: 'due', name, wakeOn: 'backlogs', pollSeconds: 1, run }
  }

  /**
   * The account that has waited longest, locked. While the row stands the tail leaves the account's events alone, so they
   * are the slices' up to where the tail has come.
   */
  #claim(tx: Tx): Promise<Backlog | null> {
    return tx.maybe<Backlog>(prepared`
      select b.account_id as "accountId", b.cursor as after, t.cursor as "upTo"
      from ${this.#table} b join tails t on t.name = ${this.#tail} and t.cursor > b.cursor
      order by b.served_at, b.account_id limit 1 for update of b skip locked`)
  }

  #update(tx: Tx, accountId: string, cursor: number): Promise<number> {
    return tx.run(prepared`
      update ${this.#table} set cursor = ${cursor}, served_at = ${tx.now} where account_id = ${accountId}`)
  }
}
