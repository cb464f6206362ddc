// The connections of this process to one database, shared between accounts: one that asks for a thousand lists at once
// waits for its own lists, and nobody else does.
import type { Writable } from 'node:stream'
import pg from 'pg'
import { Semaphore } from '../fairness/semaphore.ts'
import { currentOwner } from '../owner.ts'
import { isAway, unavailable } from './errors.ts'
import { findPooling, type Pooling } from './pooling.ts'
import type { Sql } from './sql.ts'
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
      return (await this.run<Row>(connection.client, query)).rows
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
    settings: string,
    work: (client: pg.PoolClient, begun: Promise<unknown>) => Promise<T>,
  ): Promise<T> {
    const { client, release } = await this.connect()
    let failure: Error | undefined
    try {
      gatherWrites(client)
      // Not awaited: the connection is pipelined, so BEGIN travels with the first statement of the work.
      const begun = client.query(this.#begin + settings)
      begun.catch(() => {})
      return await work(client, begun)
    } catch (error) {
      failure = error as Error
      if (!isAway(error))
        await client.query('rollback').then(
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
      return await this.transaction(SNAPSHOT, async (client, begun) => {
        const result = await read(async <Row>(query: Sql) => (await this.run<Row>(client, query)).rows)
        await begun
        // What was read stands, whatever becomes of it; the next statement on this connection comes after it.
        client.query('commit').catch(() => {})
        return result
      })
    } catch (error) {
      throw isAway(error) ? unavailable(error) : error
    }
  }

  /** The statement that opens a transaction. */
  get #begin(): string {
    return this.#pooling.isPooled ? `begin; ${limits('set local')}` : 'begin'
  }

  /** On a connection of this pool. */
  run<Row>(client: pg.PoolClient, query: Sql): Promise<Result<Row>> {
    const { text, values, name } = query.toQuery()
    // By name only where the name is known when it comes up again.
    const options = {
      name: this.#pooling.keepsNamedStatements ? name : undefined,
      isSameServer: !this.#pooling.isPooled,
    }
    return new Statement(text, values, options).runOn<Row>(client)
  }

  /**
   * Limits are the session's. Through a pooler each transaction brings them: as parameters of the connection it refuses
   * them, and left in a session they would meet the client that has it next. A single statement then has the driver's alone.
   */
  async #prepare(client: pg.ClientBase): Promise<void> {
    this.#pooling = await findPooling(client)
    if (!this.#pooling.isPooled) await client.query(limits('set'))
  }

  get counts(): { total: number; idle: number; waiting: number } {
    return { total: this.#pool.totalCount, idle: this.#pool.idleCount, waiting: this.#pool.waitingCount }
  }

  end(): Promise<void> {
    return this.#pool.end()
  }
}

const SNAPSHOT = '; set transaction isolation level repeatable read, read only'

const noPermit = (): Error => unavailable(new Error('no connection was free in time'))

const limits = (set: 'set' | 'set local'): string =>
  Object.entries(SERVER_LIMITS)
    .map(([name, milliseconds]) => `${set} ${name} = ${milliseconds}`)
    .join('; ')

const gathering = new WeakSet<object>()

/**
 * Statements issued together leave in one write. A write to the server wakes its process and costs more than what is
 * written: sent one by one they took a fifth of the time of an acceptance.
 */
export function gatherWrites(client: pg.PoolClient): void {
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection
  if (gathering.has(stream)) return
  gathering.add(stream)
  stream.cork()
  process.nextTick(() => {
    gathering.delete(stream)
    stream.uncork()
  })
}
