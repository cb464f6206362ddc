// The SQL of a lease, over a table of leased work: its rows have `due_at`, `attempts` and `lease_token`. While a row is leased,
// `due_at` is the end of the lease, so that a lease that lapses gives its row back by itself. Every write repeats the token: a
// row whose lease was lost stays as it is.
import type { Tx } from '../db/database.ts'
import { isLookedUpBy } from '../db/planner.ts'
import { bareArray, prepared, sql, Sql } from '../db/sql.ts'

/** Where counting ends. One number that its column cannot hold would fail the claim, which is one for all accounts. */
const COUNTED_MAX = 1_000

/** One more than the column has. */
export const counted = (column: Sql): Sql => sql`least(${column} + 1, ${COUNTED_MAX})`

/** What a claim sets in the rows that it takes. What it joins them with has no column `attempts`. */
export const leasing = ({ leaseToken, leaseUntil }: { leaseToken: string; leaseUntil: Date }): Sql => sql`
  lease_token = ${leaseToken}, due_at = ${leaseUntil}, attempts = ${counted(sql`attempts`)}`

/** An item, or one of the rows that an item is made of. */
type Lease<Key extends string> = Record<Key, string> & { leaseToken: string }

export class LeasedTable<Key extends string> {
  readonly #table: Sql
  readonly #key: Key
  readonly #column: Sql

  /** `key` is the column of the table's one key, and the field of an item that has it. */
  constructor(table: Sql, key: Key) {
    this.#table = table
    this.#key = key
    this.#column = new Sql([key], [], { isFixed: true })
  }

  extend(tx: Tx, leases: readonly Lease<Key>[], leaseUntil: Date): Promise<number> {
    return tx.alongIndexes.run(prepared`update ${this.#table} t set due_at = ${leaseUntil} from ${this.ours(leases)}`)
  }

  /** Gives back what was claimed and not tried, to where it stood in the order: as if it had not been claimed. */
  release(tx: Tx, leases: readonly (Lease<Key> & { was_due_at: Date })[]): Promise<number> {
    const dueTimes = leases.map(each => each.was_due_at)
    return tx.alongIndexes.run(prepared`
      update ${this.#table} t set due_at = o.due_at, lease_token = null, attempts = greatest(t.attempts - 1, 0)
      from ${this.ours(leases, dueTimes)}`)
  }

  /** Due again later. Answers those whose lease was still ours. */
  defer(tx: Tx, leases: readonly (Lease<Key> & { dueAt: Date })[]): Promise<Record<Key, string>[]> {
    const dueTimes = leases.map(each => each.dueAt)
    return tx.alongIndexes.many<Record<Key, string>>(prepared`
      update ${this.#table} t set due_at = o.due_at, lease_token = null
      from ${this.ours(leases, dueTimes)} returning t.${this.#column}`)
  }

  /**
   * For `from` and `using` of statements along indexes: those of these rows, `t`, whose lease is still ours. Further
   * conditions may follow.
   */
  ours(leases: readonly Lease<Key>[], dueTimes: readonly Date[] = []): Sql {
    return sql`
      unnest(${bareArray(leases.map(each => each[this.#key]))}::uuid[],
        ${bareArray(leases.map(each => each.leaseToken))}::uuid[], ${dueTimes}::timestamptz[])
        as o (key, lease_token, due_at)
      where ${isLookedUpBy(sql`t.${this.#column}`, sql`o.key`)} and t.lease_token = o.lease_token`
  }
}
