// Waiting for a database that is not there yet, or goes away while we start.
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Log } from '../log.ts'
import { Refusal } from '../refusal.ts'
import { isAway } from './errors.ts'
import { findPooling, type Pooling } from './pooling.ts'

const RETRY_MS = 500

/** Does a step of the start, again while the database is away. */
export type UntilAvailable = <T>(step: () => Promise<T>) => Promise<T>

export class DatabaseWait {
  readonly #log: Log
  readonly #signal: AbortSignal
  #isWaiting = false
  /** Whether the database was away at some time. */
  hasWaited = false

  /** Once the signal says so, nothing is waited for any longer. */
  constructor(log: Log, signal: AbortSignal) {
    this.#log = log
    this.#signal = signal
  }

  /**
   * Does one step of the start, again and again while the database is away: a database that is started or restarted beside
   * us, or that moves to another machine, must not end us. What is wrong for good, such as a password, is thrown at once.
   */
  readonly until: UntilAvailable = async step => {
    for (;;) {
      this.#signal.throwIfAborted()
      try {
        const result = await step()
        if (this.#isWaiting) this.#log.info('the database is there')
        this.#isWaiting = false
        return result
      } catch (error) {
        const reason = reasonToWait(error)
        if (!reason) throw error
        // One line however long it takes.
        if (!this.#isWaiting) this.#log.warn({ err: reason }, 'waiting for the database')
        this.#isWaiting = true
        this.hasWaited = true
        await delay(RETRY_MS, null, { signal: this.#signal })
      }
    }
  }

  /** Until somebody answers there; says when that is a pooler. */
  connection(url: string): Promise<void> {
    return this.until(async () => {
      const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 5_000 })
      client.on('error', () => {})
      try {
        await client.connect()
        noteWhatIsLost(this.#log, await findPooling(client))
        await client.end()
      } catch (cause) {
        throw new Error('connecting to the database', { cause })
      }
    })
  }
}

/** What says that the database is away, wherever it stands among the causes; null when nothing does. */
function reasonToWait(error: unknown): unknown {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (isAway(each)) return each
    if (each instanceof Refusal && each.code !== 'unavailable') return null
  }
  return null
}

function noteWhatIsLost(log: Log, { isPooled, keepsNamedStatements }: Pooling): void {
  if (!isPooled) return
  log.info('DATABASE_URL leads to a pooler: processes poll for the work of others instead of listening for it')
  if (keepsNamedStatements) return
  log.warn(
    'the pooler keeps no prepared statements, so each is planned anew: PgBouncer 1.21 has max_prepared_statements',
  )
}
