// One statement of a batch, with three things less to do each time than the driver's own: its text is not looked through for
// how to send it, the columns of a named statement are described once per connection, and no event tells of a row. Of a
// request that waits for its commit these were a tenth of the work, on both sides.
import pg from 'pg'

export interface Result<Row> {
  /** What was done, as the server calls it. */
  command: string | null
  rows: Row[]
  rowCount: number | null
}

/** What the driver makes of the description of a row. */
interface Columns {
  fields: unknown[]
  _parsers: unknown[] | undefined
  _prebuiltEmptyResultObject: object | null
}

interface DriverResult extends Columns, Result<unknown> {
  addFields(fields: unknown[]): void
  parseRow(values: unknown[]): unknown
  addCommandComplete(message: unknown): void
}

const driver = pg as unknown as {
  Result: new () => DriverResult
  utils: { prepareValue: (value: unknown) => unknown }
}

/** The driver's, with what its types leave out. */
export interface DriverConnection {
  /** Texts by the names that the server has confirmed, and by those that it has not yet answered to. */
  parsedStatements: Record<string, string>
  submittedNamedStatements: Record<string, string>
  parse(statement: { name: string | undefined; text: string }): void
  bind(values: { statement: string | undefined; values: unknown[]; valueMapper: (value: unknown) => unknown }): void
  describe(what: { type: 'P' }): void
  execute(): void
}

const columnsOf = new WeakMap<DriverConnection, Map<string, Columns>>()

interface StatementOptions {
  /** Without a name it is prepared for this one time. */
  name: string | undefined
  /** The server that prepared it is the one that runs it: its columns are the same each time. */
  isSameServer: boolean
}

export class Statement {
  readonly text: string
  readonly name: string | undefined
  readonly #values: unknown[]
  readonly #isSameServer: boolean
  readonly #result = new driver.Result()
  /** What a value of its rows could not be read as. */
  #unreadable: Error | null = null
  readonly #settled = Promise.withResolvers<Result<unknown>>()

  constructor(text: string, values: unknown[], { name, isSameServer }: StatementOptions) {
    this.text = text
    this.name = name
    this.#values = values
    this.#isSameServer = isSameServer && name !== undefined
  }

  /** Throws when a value cannot be written. */
  writeTo(connection: DriverConnection): void {
    const { text, name } = this
    if (name === undefined || !isKnown(connection, name)) {
      connection.parse({ name, text })
      if (name !== undefined) connection.submittedNamedStatements[name] = text
    }
    connection.bind({ statement: name, values: this.#values, valueMapper: driver.utils.prepareValue })
    const columns = this.#isSameServer && columnsOf.get(connection)?.get(name!)
    if (columns) Object.assign(this.#result, columns)
    else connection.describe({ type: 'P' })
    connection.execute()
  }

  addFields(fields: unknown[]): void {
    this.#result.addFields(fields)
  }

  addRow(values: unknown[]): void {
    if (this.#unreadable) return
    try {
      this.#result.rows.push(this.#result.parseRow(values))
    } catch (error) {
      this.#unreadable = error as Error
    }
  }

  complete(message: unknown, connection: DriverConnection): void {
    this.#result.addCommandComplete(message)
    if (!this.#isSameServer) return
    let columns = columnsOf.get(connection)
    if (!columns) columnsOf.set(connection, (columns = new Map()))
    if (columns.has(this.name!)) return
    const { fields, _parsers, _prebuiltEmptyResultObject } = this.#result
    columns.set(this.name!, { fields, _parsers, _prebuiltEmptyResultObject })
  }

  /** What it answered with, once the batch has ended. */
  async answer<Row>(): Promise<Result<Row>> {
    try {
      return (await this.#settled.promise) as Result<Row>
    } catch (error) {
      // The trace that leads here instead of to the socket.
      if (error instanceof Error) Error.captureStackTrace(error)
      throw error
    }
  }

  succeed(): void {
    if (this.#unreadable) this.#settled.reject(this.#unreadable)
    else this.#settled.resolve(this.#result)
  }

  fail(error: Error): void {
    this.#settled.reject(error)
  }
}

const isKnown = ({ parsedStatements, submittedNamedStatements }: DriverConnection, name: string): boolean =>
  parsedStatements[name] !== undefined || submittedNamedStatements[name] !== undefined
