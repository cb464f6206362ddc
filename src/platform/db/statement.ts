// A statement as the driver runs it. Given a plain object, the driver copies it property by property, each time: of a request
// that waits for its commit that was a thirtieth of the work.
import pg from 'pg'

export interface Result<Row> {
  rows: Row[]
  rowCount: number | null
}

export class Statement extends pg.Query {
  declare name: string | undefined
  declare callback: (error: Error | null, result: unknown) => void

  constructor(text: string, values: unknown[], name: string | undefined) {
    super(text, values)
    this.name = name
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
}
