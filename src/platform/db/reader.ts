// What can be asked of a database, a snapshot or a transaction: how many rows are expected, and what of them is wanted.
import type { Sql } from './sql.ts'

/** Reads. Every function that only takes a `Db` leaves the database as it was. */
export interface Db {
  many<Row>(query: Sql): Promise<Row[]>
  one<Row>(query: Sql): Promise<Row>
  maybe<Row>(query: Sql): Promise<Row | null>
  /** What the one column of the one row says. */
  value<Value>(query: Sql): Promise<Value>
  /** Null also where there is no row. */
  maybeValue<Value>(query: Sql): Promise<Value | null>
}

/** All that reads does it by `many`. */
export abstract class Reader implements Db {
  abstract many<Row>(query: Sql): Promise<Row[]>

  async one<Row>(query: Sql): Promise<Row> {
    const rows = await this.many<Row>(query)
    if (rows.length !== 1) throw new Error(`expected one row, found ${rows.length}`)
    return rows[0]!
  }

  async maybe<Row>(query: Sql): Promise<Row | null> {
    const rows = await this.many<Row>(query)
    if (rows.length > 1) throw new Error(`expected at most one row, found ${rows.length}`)
    return rows[0] ?? null
  }

  async value<Value>(query: Sql): Promise<Value> {
    return Object.values(await this.one<Record<string, Value>>(query))[0]!
  }

  async maybeValue<Value>(query: Sql): Promise<Value | null> {
    const row = await this.maybe<Record<string, Value>>(query)
    return row && Object.values(row)[0]!
  }
}
