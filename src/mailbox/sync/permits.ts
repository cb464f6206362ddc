// Permits of mirrors for what they share. Hundreds of sessions may want the database at once, and a connection to it is
// waited for only briefly: so they wait here, account by account, for as long as it takes.
import type { Actor } from '../../platform/db/actor.ts'
import type { Database, Db, Tx } from '../../platform/db/database.ts'
import type { Sql } from '../../platform/db/sql.ts'
import { Semaphore } from '../../platform/fairness/semaphore.ts'

/** The database, with a permit. */
export interface MirrorDb extends Db {
  transact<T>(by: Actor, recipe: (tx: Tx) => Promise<T>): Promise<T>
}

const WAIT_MS_MAX = 600_000

export class Permits {
  /** Less than the connections that one account may have. */
  readonly #database = new Semaphore({ permits: 6, perOwner: 2, waitMsMax: WAIT_MS_MAX })
  /** A refresh of a token may take as long as the provider likes, within bounds. */
  readonly #tokens = new Semaphore({ permits: 64, perOwner: 4, waitMsMax: WAIT_MS_MAX })
  readonly #reading = new Semaphore({ permits: 6, perOwner: 2, waitMsMax: WAIT_MS_MAX })

  databaseOf(db: Database, accountId: string): MirrorDb {
    const withPermit = <T>(act: () => Promise<T>): Promise<T> => this.#database.run(accountId, tooLong, act)
    return {
      many: <Row>(query: Sql) => withPermit(() => db.many<Row>(query)),
      one: <Row>(query: Sql) => withPermit(() => db.one<Row>(query)),
      maybe: <Row>(query: Sql) => withPermit(() => db.maybe<Row>(query)),
      value: <Value>(query: Sql) => withPermit(() => db.value<Value>(query)),
      maybeValue: <Value>(query: Sql) => withPermit(() => db.maybeValue<Value>(query)),
      transact: (by, recipe) => withPermit(() => db.transact(by, recipe)),
    }
  }

  token<T>(accountId: string, act: () => Promise<T>): Promise<T> {
    return this.#tokens.run(accountId, tooLong, act)
  }

  /** Batches that are read in threads. */
  reading<T>(accountId: string, act: () => Promise<T>): Promise<T> {
    return this.#reading.run(accountId, tooLong, act)
  }
}

const tooLong = (): Error => new Error('a mirror had to wait for a permit for too long')
