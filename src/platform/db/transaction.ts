// One transaction: what can be asked and written in it, how its statements are planned, and what it will say it has done.
import type pg from 'pg'
import type { AuditDraft, EventDraft } from '../journal/append.ts'
import type { Actor } from './actor.ts'
import { isConsequence } from './batch.ts'
import { PLAN_ALONG_INDEXES, PLAN_FREELY } from './planner.ts'
import { Reader, type Db } from './reader.ts'
import type { SharedPool } from './shared-pool.ts'
import type { Sql } from './sql.ts'
import type { Result } from './statement.ts'

/** Writes, inside one transaction. */
export interface Tx extends Db {
  readonly now: Date
  readonly by: Actor
  /**
   * The same transaction, for statements that go row by row along the indexes that were made for them, whatever the planner
   * believes. Nothing else in the transaction is planned that way.
   */
  readonly alongIndexes: Tx
  run(query: Sql): Promise<number>
  /** Issues a write whose result nobody looks at: it travels with the commit, and the commit fails when it does. */
  send(query: Sql): void
  /** Appends to the journal when the transaction commits. */
  record(event: EventDraft): void
  audit(entry: AuditDraft): void
}

export class Transaction extends Reader implements Tx {
  readonly now: Date
  readonly by: Actor
  readonly alongIndexes: Tx = new AlongIndexes(this)
  readonly events: EventDraft[] = []
  readonly entries: AuditDraft[] = []
  readonly sent: Promise<unknown>[] = []
  readonly #client: pg.PoolClient
  readonly #pool: SharedPool
  #isAlongIndexes = false

  constructor(client: pg.PoolClient, pool: SharedPool, { by, now }: { by: Actor; now: Date }) {
    super()
    this.#client = client
    this.#pool = pool
    this.by = by
    this.now = now
  }

  /** The server takes statements in the order in which they are asked, and so what is set between them. */
  ask<Row>(query: Sql, { isAlongIndexes = false } = {}): Promise<Result<Row>> {
    if (isAlongIndexes !== this.#isAlongIndexes) {
      this.#isAlongIndexes = isAlongIndexes
      this.#keep(this.#pool.run(this.#client, isAlongIndexes ? PLAN_ALONG_INDEXES : PLAN_FREELY))
    }
    return this.#pool.run<Row>(this.#client, query, { variant: isAlongIndexes ? 'i' : '' })
  }

  async many<Row>(query: Sql): Promise<Row[]> {
    return (await this.ask<Row>(query)).rows
  }

  async run(query: Sql): Promise<number> {
    return (await this.ask(query)).rowCount ?? 0
  }

  send(query: Sql, how?: { isAlongIndexes: boolean }): void {
    this.#keep(this.ask(query, how))
  }

  /** Seen at the commit; until then a failure must not count as unhandled. */
  #keep(asked: Promise<unknown>): void {
    asked.catch(() => {})
    this.sent.push(asked)
  }

  /** Throws the failure for which a statement was skipped, not that it was. */
  async explain(error: unknown): Promise<never> {
    if (!isConsequence(error)) throw error
    await allOrFirstFailure(this.sent)
    throw error.cause ?? error
  }

  record(event: EventDraft): void {
    this.events.push(event)
  }

  audit(entry: AuditDraft): void {
    this.entries.push(entry)
  }
}

const ALONG = { isAlongIndexes: true }

class AlongIndexes extends Reader implements Tx {
  readonly #transaction: Transaction

  constructor(transaction: Transaction) {
    super()
    this.#transaction = transaction
  }

  get now(): Date {
    return this.#transaction.now
  }

  get by(): Actor {
    return this.#transaction.by
  }

  get alongIndexes(): Tx {
    return this
  }

  async many<Row>(query: Sql): Promise<Row[]> {
    return (await this.#transaction.ask<Row>(query, ALONG)).rows
  }

  async run(query: Sql): Promise<number> {
    return (await this.#transaction.ask(query, ALONG)).rowCount ?? 0
  }

  send(query: Sql): void {
    this.#transaction.send(query, ALONG)
  }

  record(event: EventDraft): void {
    this.#transaction.record(event)
  }

  audit(entry: AuditDraft): void {
    this.#transaction.audit(entry)
  }
}

/**
 * All settle before anything is thrown, so that the connection is quiet when it goes back. What failed by itself is thrown
 * rather than what was skipped for it.
 */
export async function allOrFirstFailure(statements: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(statements)
  const failures = results.flatMap(each => (each.status === 'rejected' ? [each.reason as Error] : []))
  const cause = failures.find(each => !isConsequence(each)) ?? failures[0]?.cause ?? failures[0]
  if (cause) throw cause
}
