// What is asked of one connection in one turn of the event loop: the statements leave in one write and are answered in one,
// because PostgreSQL writes what it has when it is told that a batch has ended. Each write wakes the process at the other end,
// which costs more than what is written: sent one by one, statements took a fifth of the time of an acceptance.
//
// Where a statement fails, PostgreSQL skips those behind it, also a commit. Its sender rolls back.
import pg from 'pg'
import { isAway, isCollision } from './errors.ts'
import type { DriverConnection, Result, Statement } from './statement.ts'

/** Of all connections that have something to send. */
const gathered = new WeakMap<pg.PoolClient, Batch>()

/** Travels with whatever else is asked of this connection in this turn of the event loop. */
export function ask<Row>(client: pg.PoolClient, statement: Statement): Promise<Result<Row>> {
  let batch = gathered.get(client)
  if (!batch) {
    gathered.set(client, (batch = new Batch()))
    process.nextTick(sendBatch, client)
  }
  batch.add(statement)
  return statement.answer<Row>()
}

/** What is asked from now on comes after it, and also where this fails. */
export function sendBatch(client: pg.PoolClient): void {
  const batch = gathered.get(client)
  if (!batch) return
  gathered.delete(client)
  client.query(batch)
}

/** SQLSTATE of what comes after a failure in its transaction. */
const IN_FAILED_TRANSACTION = '25P02'

/** A recipe may catch the code of one of its statements: one that was skipped must not carry that of another. */
const skipped = (cause: Error): Error =>
  Object.assign(new Error('not run, because a statement before it failed', { cause }), { code: IN_FAILED_TRANSACTION })

/** 26000: the server has skipped the Parse of a name that a later batch uses. */
const CONSEQUENCES = new Set<unknown>([IN_FAILED_TRANSACTION, '26000'])

/** No reason of its own: something failed before it. */
export const isConsequence = (error: unknown): error is Error =>
  CONSEQUENCES.has((error as { code?: unknown } | null)?.code)

/** The driver's class, with what its types leave out. What it remembers of a statement goes by these two. */
const DriverQuery = pg.Query as unknown as new (text: string) => pg.Query & { text: string; name: string | undefined }

class Batch extends DriverQuery {
  readonly #statements: Statement[] = []
  /** How many of them the server has answered. */
  #answered = 0
  /** Of the statement that could not be written. Neither it nor what is behind it was sent. */
  #unwritten: Error | null = null

  constructor() {
    super('')
  }

  add(statement: Statement): void {
    this.#statements.push(statement)
  }

  /** The driver wraps it to stop its timer, and calls it by itself when the time is over. */
  callback = (failure: Error | null): void => {
    // Only the end of the batch commits a statement that is alone in its transaction.
    const failed = failure ? Math.min(this.#answered, this.#statements.length - 1) : this.#statements.length
    for (const [n, statement] of this.#statements.entries()) {
      if (n < failed) statement.succeed()
      else statement.fail(n === failed || isAway(failure) || isCollision(failure) ? failure! : skipped(failure!))
    }
  }

  override submit = (connection: pg.Connection): void => {
    const { stream } = connection
    stream.cork()
    try {
      for (const statement of this.#statements) statement.writeTo(connection as unknown as DriverConnection)
    } catch (error) {
      this.#unwritten = error as Error
    } finally {
      connection.sync()
      stream.uncork()
    }
    this.#nameCurrent()
  }

  get #current(): Statement | undefined {
    return this.#statements[this.#answered]
  }

  /** The driver takes a statement for prepared when it hears so while this is its name. */
  #nameCurrent(): void {
    this.name = this.#current?.name
    this.text = this.#current?.text ?? ''
  }

  handleRowDescription({ fields }: { fields: unknown[] }): void {
    this.#current!.addFields(fields)
  }

  handleDataRow({ fields }: { fields: unknown[] }): void {
    this.#current!.addRow(fields)
  }

  handleCommandComplete(message: unknown, connection: DriverConnection): void {
    this.#current!.complete(message, connection)
    this.#next()
  }

  /** The answer to a statement that is no more than blanks. */
  handleEmptyQuery(): void {
    this.#next()
  }

  #next(): void {
    this.#answered += 1
    this.#nameCurrent()
  }

  handleError(error: Error, { submittedNamedStatements }: DriverConnection): void {
    // The server has not seen those behind it.
    for (const { name } of this.#statements.slice(this.#answered)) if (name) delete submittedNamedStatements[name]
    this.callback(error)
  }

  handleReadyForQuery(): void {
    this.callback(this.#unwritten)
  }
}
