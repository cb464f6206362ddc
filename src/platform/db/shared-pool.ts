// The connections of this process to one database, shared between accounts: one that asks for a thousand lists at once
// waits for its own lists, and nobody else does.
import pg from 'pg'
import { Semaphore } from '../fairness/semaphore.ts'
import { currentOwner } from '../owner.ts'
import { isAway, unavailable } from './errors.ts'
import type { Sql } from './sql.ts'

interface PoolOptions {
  connectionsMax: number
  onError: (error: Error) => void
}

/** A statement without an answer for this long fails, and its connection is destroyed. */
const STATEMENT_MS_MAX = 10_000
/** For a connection, and before that for a permit to have one. */
const CONNECT_MS_MAX = 5_000
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

  constructor(url: string, options: PoolOptions) {
    const { connectionsMax } = options
    this.#pool = openPool(url, options)
    this.#permits = new Semaphore({
      permits: connectionsMax,
      perOwner: Math.max(1, Math.floor(connectionsMax * OWNER_SHARE)),
      waitMsMax: CONNECT_MS_MAX,
    })
  }

  async rows<Row>(query: Sql): Promise<Row[]> {
    const owner = currentOwner()
    const wait = this.#permits.acquire(owner, noPermit)
    if (wait) await wait
    try {
      const result = await this.#pool.query(query.toQuery())
      return result.rows as Row[]
    } catch (error) {
      throw isAway(error) ? unavailable(error) : error
    } finally {
      this.#permits.release(owner)
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

  get counts(): { total: number; idle: number; waiting: number } {
    return { total: this.#pool.totalCount, idle: this.#pool.idleCount, waiting: this.#pool.waitingCount }
  }

  end(): Promise<void> {
    return this.#pool.end()
  }
}

const noPermit = (): Error => unavailable(new Error('no connection was free in time'))

function openPool(url: string, { connectionsMax, onError }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connectionsMax,
    application_name: 'sluice',
    connectionTimeoutMillis: CONNECT_MS_MAX,
    idleTimeoutMillis: 60_000,
    query_timeout: STATEMENT_MS_MAX,
    statement_timeout: STATEMENT_MS_MAX - 500,
    idle_in_transaction_session_timeout: 30_000,
    pipeline: true,
    keepAlive: true,
  })
  // Without these two listeners a backend that dies takes the process with it, also while its client is checked out.
  pool.on('error', onError)
  pool.on('connect', client => client.on('error', () => {}))
  return pool
}
