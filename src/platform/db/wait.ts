// Waiting for a database that is started beside us.
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Log } from '../log.ts'
import { isAway } from './errors.ts'

/** A database that starts beside us may need a moment; after this we say so and end. */
const WAIT_MS_MAX = 60_000

export async function waitForDatabase(url: string, log: Log): Promise<void> {
  const deadline = performance.now() + WAIT_MS_MAX
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.end()
      return
    } catch (cause) {
      if (!isAway(cause) || performance.now() > deadline) throw new Error('the database does not answer', { cause })
      log.warn({ err: cause }, 'waiting for the database')
      await delay(1_000)
    }
  }
}
