// The connections of this process to one database, shared between accounts: one that asks for a thousand lists at once
// waits for its own lists, and nobody else does.
import pg from 'pg'
import { Semaphore } from '../fairness/semaphore.ts'
import { currentOwner } from '../owner.ts'
import { ask, sendBatch } from './batch.ts'
import { isAway, unavailable } from './errors.ts'
import { findPooling, type Pooling } from './pooling.ts'
import { prepared, Sql } from './sql.ts'
import { Statement, type Result } from './statement.ts'

/** A statement without an answer for this long fails, and its connection is destroyed. */
const STATEMENT_MS_MAX = 10_000
/** For a connection, and before that for a permit to have one. */
const CONNECT_MS_MAX = 5_000
/** A transaction that waits for us this long is rolled back. The server gives up a little before the driver does. */
const SERVER_LIMITS = { statement_timeout: STATEMENT_MS_MAX - 500, idle_in_transaction_session_timeout: 30_000 }
/** Of all connections, what the requests of one account may use at a time. */
const OWNER_SHARE = 0.4

pg.types.setTypeParser(pg.types.builtins.INT8, Number)
pg.types.setTypeParser(pg.types.builtins.DATE, String)

interface Connection {
  client: pg.PoolClient
  /** Once; with the failure when the connection must not be used again. */
  release: (failure?: Error) => void
}

export class SharedPool {
  readonly #pool: pg.Pool
  readonly #permits: Semaphore
  /** As the newest connection found it. */
  #pooling: Pooling = { isPooled: false, keepsNamedStatements: true }

  constructor(url: string, options: { connectionsMax: number; onError: (error: Error) => void }) {
    const { connectionsMax, onError } = options
    this.#pool = new pg.Pool({
      connectionString: url,
      max: connectionsMax,
      application_name: 'sluice',
      connectionTimeoutMillis: CONNECT_MS_MAX,
      idleTimeoutMillis: 60_000,
      query_timeout: STATEMENT_MS_MAX,
      onConnect: client => this.#prepare(client),
      pipeline: true,
      keepAlive: true,
    })
    // Without these two listeners a backend that dies takes the process with it, also while its client is checked out.
    this.#pool.on('error', onError)
    this.#pool.on('connect', client => client.on('error', () => {}))
    this.#permits = new Semaphore({
      permits: connectionsMax,
      perOwner: Math.max(1, Math.floor(connectionsMax * OWNER_SHARE)),
      waitMsMax: CONNECT_MS_MAX,
    })
  }

  async rows<Row>(query: Sql): Promise<Row[]> {
    let failure: Error | undefined
    let connection: Connection | null = null
    try {
      connection = await this.connect()
      return (await this.#runApart<Row>(connection.client, query)).rows
    } catch (error) {
      failure = error as Error
      throw isAway(error) ? unavailable(error) : error
    } finally {
      connection?.release(failure)
    }
  }

  async connect(): Promise<Connection> {
    const owner = currentOwner()
    const wait = this.#permits.acquire(owner, noPermit)
    if (wait) await wait
    try {
      const client = await this.#pool.connect()
      return {
        client,
        release: failure => {
          client.release(failure)
          this.#permits.release(owner)
        },
      }
    } catch (error) {
      this.#permits.release(owner)
      throw error
    }
  }

  /** Work that ends with a commit of its own. What fails is rolled back. */
  async transaction<T>(
    opening: readonly Sql[],
    work: (client: pg.PoolClient, begun: Promise<unknown>) => Promise<T>,
  ): Promise<T> {
    const { client, release } = await this.connect()
    let failure: Error | undefined
    try {
      // Not awaited: it travels with the first statement of the work.
      const begun = Promise.all(
        [...opening, ...(this.#pooling.isPooled ? LOCAL_LIMITS : [])].map(query => this.run(client, query)),
      )
      begun.catch(() => {})
      return await work(client, begun)
    } catch (error) {
      failure = error as Error
      if (!isAway(error))
        await this.#runApart(client, prepared`rollback`).then(
          () => (failure = undefined),
          () => {},
        )
      throw error
    } finally {
      release(failure)
    }
  }

  /** All that is read is of one moment. */
  async snapshot<T>(read: (many: <Row>(query: Sql) => Promise<Row[]>) => Promise<T>): Promise<T> {
    try {
      return await this.transaction(begin.snapshot, async (client, begun) => {
        const result = await read(async <Row>(query: Sql) => (await this.run<Row>(client, query)).rows)
        await begun
        // What was read stands, whatever becomes of it; the next statement on this connection comes after it.
        this.#runApart(client, COMMIT).catch(() => {})
        return result
      })
    } catch (error) {
      throw isAway(error) ? unavailable(error) : error
    }
  }

  /**
   * On a connection of this pool, with what else is asked of it at this moment. A plan outlives the settings that it was made
   * under: what is planned in another way is prepared as a variant of its own.
   */
  run<Row>(client: pg.PoolClient, query: Sql, { variant = '' } = {}): Promise<Result<Row>> {
    const { text, values, name } = query.toQuery()
    // By name only where the name is known when it comes up again.
    const options = {
      name: name !== undefined && this.#pooling.keepsNamedStatements ? name + variant : undefined,
      isSameServer: !this.#pooling.isPooled,
    }
    return ask<Row>(client, new Statement(text, values, options))
  }

  /** At once, and also where what was asked before fails: in one batch with that the server would skip it. */
  #runApart<Row>(client: pg.PoolClient, query: Sql): Promise<Result<Row>> {
    sendBatch(client)
    const answer = this.run<Row>(client, query)
    sendBatch(client)
    return answer
  }

  /**
   * Limits are the session's. Through a pooler each transaction brings them: as parameters of the connection it refuses
   * them, and left in a session they would meet the client that has it next. A single statement then has the driver's alone.
   */
  async #prepare(client: pg.ClientBase): Promise<void> {
    this.#pooling = await findPooling(client)
    if (!this.#pooling.isPooled) await client.query(limits('set').join('; '))
  }

  get counts(): { total: number; idle: number; waiting: number } {
    return { total: this.#pool.totalCount, idle: this.#pool.idleCount, waiting: this.#pool.waitingCount }
  }

  end(): Promise<void> {
    return this.#pool.end()
  }
}

/** How transactions begin. */
export const begin = {
  durable: [prepared`begin`],
  /** Its commit waits for no disk. */
  light: [prepared`begin`, prepared`set local synchronous_commit = off`],
  snapshot: [prepared`begin isolation level repeatable read, read only`],
}

export const COMMIT = prepared`commit`

const noPermit = (): Error => unavailable(new Error('no connection was free in time'))

const limits = (set: 'set' | 'set local'): string[] =>
  Object.entries(SERVER_LIMITS).map(([name, milliseconds]) => `${set} ${name} = ${milliseconds}`)

const LOCAL_LIMITS = limits('set local').map(text => new Sql([text], [], { isPrepared: true, isFixed: true }))
