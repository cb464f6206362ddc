// A statement as the driver runs it, with three things less to do each time: a plain object is not copied property by
// property, the columns of a named statement are described once per connection, and rows are told of to nobody. Of a request
// that waits for its commit these were a tenth of the work, on both sides.
import pg from 'pg'

export interface Result<Row> {
  rows: Row[]
  rowCount: number | null
}

/** What the driver makes of the description of a row. */
interface Columns {
  fields: unknown[]
  _parsers: unknown[] | undefined
  _prebuiltEmptyResultObject: object | null
}

/** One connection, as it is to statements whose columns are known. */
interface Known {
  connection: pg.Connection
  columns: Map<string, Columns>
}

const knownOf = new WeakMap<pg.Connection, Known>()

function known(connection: pg.Connection): Known {
  let found = knownOf.get(connection)
  if (!found) {
    const undescribed = Object.create(connection, { describe: { value: () => {} } }) as pg.Connection
    knownOf.set(connection, (found = { connection: undescribed, columns: new Map() }))
  }
  return found
}

interface StatementOptions {
  /** Without a name it is prepared for this one time. */
  name: string | undefined
  /** The server that prepared it is the one that runs it: its columns are the same each time. */
  isSameServer: boolean
}

/** The driver's class, with what its types leave out. */
interface DriverQuery {
  _result: Columns & { parseRow(values: unknown): unknown; addRow(row: unknown): void }
  _canceledDueToError: unknown
  prepare(connection: pg.Connection): void
  handleDataRow(message: { fields: unknown[] }): void
  handleCommandComplete(message: unknown, connection: pg.Connection): void
}

const DriverQuery = pg.Query as unknown as new (text: string, values: unknown[]) => DriverQuery & pg.Query

export class Statement extends DriverQuery {
  declare name: string | undefined
  declare callback: (error: Error | null, result: unknown) => void
  readonly #isSameServer: boolean

  constructor(text: string, values: unknown[], { name, isSameServer }: StatementOptions) {
    super(text, values)
    this.name = name
    this.#isSameServer = isSameServer && name !== undefined
  }

  async runOn<Row>(client: pg.PoolClient): Promise<Result<Row>> {
    try {
      return await new Promise<Result<Row>>((resolve, reject) => {
        this.callback = (error, result) => (error ? reject(error) : resolve(result as Result<Row>))
        client.query(this)
      })
    } catch (error) {
      // The trace that leads here instead of to the socket.
      if (error instanceof Error) Error.captureStackTrace(error)
      throw error
    }
  }

  override prepare(connection: pg.Connection): void {
    const { connection: undescribed, columns } = known(connection)
    const mine = this.#isSameServer ? columns.get(this.name!) : undefined
    if (!mine) return super.prepare(connection)
    Object.assign(this._result, mine)
    super.prepare(undescribed)
  }

  override handleDataRow({ fields }: { fields: unknown[] }): void {
    if (this._canceledDueToError) return
    try {
      this._result.addRow(this._result.parseRow(fields))
    } catch (error) {
      this._canceledDueToError = error
    }
  }

  override handleCommandComplete(message: unknown, connection: pg.Connection): void {
    super.handleCommandComplete(message, connection)
    const { columns } = known(connection)
    if (!this.#isSameServer || columns.has(this.name!)) return
    const { fields, _parsers, _prebuiltEmptyResultObject } = this._result
    columns.set(this.name!, { fields, _parsers, _prebuiltEmptyResultObject })
  }
}
