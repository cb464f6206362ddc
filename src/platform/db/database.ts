// The only door to PostgreSQL. `Db` reads; `transact` gives a `Tx` that writes, and that buffers what happened (events)
// and who did it (audit) until the last moment before commit.
import type pg from 'pg'
import type { Clock, Skew } from '../clock.ts'
import { appendJournal, insertReserved, reserveIds, toReserve, type EventDraft } from '../journal/append.ts'
import { Refusal } from '../refusal.ts'
import { system, type Actor } from './actor.ts'
import { Continuity } from './continuity.ts'
import { isAway, isCollision, isTimedOut, unavailable } from './errors.ts'
import { locks } from './locks.ts'
import { NestingGuard } from './nesting.ts'
import { Reader, type Db } from './reader.ts'
import { begin, COMMIT, SharedPool } from './shared-pool.ts'
import { prepared, sql, type Sql } from './sql.ts'
import { allOrFirstFailure, Transaction, type Tx } from './transaction.ts'

export type { Db, Tx }

export type Reads = Pick<Db, 'many'>

export interface Lists extends Reads {
  /** What is read is of one moment: a row that moves meanwhile from one place to another is found in one of them. */
  atOneMoment<T>(read: (db: Db) => Promise<T>): Promise<T>
}

interface DatabaseOptions {
  url: string
  replicaUrl: string | null
  connectionsMax: number
  clock: Clock
  /** Authenticates audit entries as ours; see observers/audit. */
  auditMac: (content: string) => Buffer
  /** Called after a commit that appended to the journal, with what it appended. */
  onAppend: (appended: { hasEvents: boolean; hasEntries: boolean }) => void
  onError: (error: Error) => void
  /** In tests: a transaction that is opened inside another one fails. */
  forbidsNesting?: boolean
}

interface Kind {
  isLight: boolean
}

const COLLISION_TRIES_MAX = 4
const READER = system('reading')

export class Database extends Reader implements Lists {
  readonly #options: DatabaseOptions
  readonly #pool: SharedPool
  readonly #replica: SharedPool | null
  readonly #nesting: NestingGuard | null
  readonly continuity = new Continuity()

  constructor(options: DatabaseOptions) {
    super()
    this.#options = options
    this.#nesting = options.forbidsNesting ? new NestingGuard() : null
    const { connectionsMax, onError } = options
    const onLost = (error: Error): void => {
      this.continuity.noteLost()
      onError(error)
    }
    this.#pool = new SharedPool(options.url, { connectionsMax, onError: onLost })
    this.#replica = options.replicaUrl ? new SharedPool(options.replicaUrl, options) : null
  }

  many<Row>(query: Sql): Promise<Row[]> {
    return this.continuity.watch(this.#pool.rows<Row>(query))
  }

  /** For lists and search: the replica where there is one, the primary where not or while it is away. */
  get lists(): Lists {
    return {
      many: <Row>(query: Sql) => this.#onReplica(pool => pool.rows<Row>(query)),
      atOneMoment: read =>
        this.#guarded(READER, () => this.#onReplica(pool => pool.snapshot(many => read(new Snapshot(many))))),
    }
  }

  /** On the primary, for readers of what was written a moment ago. */
  atOneMoment<T>(read: (db: Db) => Promise<T>): Promise<T> {
    return this.#guarded(READER, () => this.continuity.watch(this.#pool.snapshot(many => read(new Snapshot(many)))))
  }

  async #onReplica<T>(read: (pool: SharedPool) => Promise<T>): Promise<T> {
    try {
      if (this.#replica) return await read(this.#replica)
    } catch (error) {
      // It may also not know yet what it was asked for, or end a snapshot that is in the way of what it has to catch up with.
      if (isTimedOut(error) || !(error instanceof Refusal || isCollision(error))) throw error
    }
    return this.continuity.watch(read(this.#pool))
  }

  /** Runs the recipe in one transaction. Two that collide are run again; what it recorded is appended at commit. */
  transact<T>(by: Actor, recipe: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#transactWith({ isLight: false }, by, recipe)
  }

  /**
   * Without waiting for the disk: a crash of the database may undo it although it was answered. For what is done again
   * anyway, such as taking a lease. The commit then waits for no disk, and nobody who does wait stands behind it. One that
   * appends to the journal waits all the same: readers have seen the events, and other events would get their ids.
   */
  transactLightly<T>(by: Actor, recipe: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#transactWith({ isLight: true }, by, recipe)
  }

  #transactWith<T>(kind: Kind, by: Actor, recipe: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#guarded(by, () => this.#transactRepeatedly(kind, by, recipe))
  }

  #guarded<T>(by: Actor, act: () => Promise<T>): Promise<T> {
    return this.#nesting ? this.#nesting.run(by, act) : act()
  }

  async #transactRepeatedly<T>(kind: Kind, by: Actor, recipe: (tx: Tx) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.continuity.watch(this.#transactOnce(kind, by, recipe))
      } catch (error) {
        if (!isCollision(error) || attempt === COLLISION_TRIES_MAX) throw isAway(error) ? unavailable(error) : error
      }
    }
  }

  #transactOnce<T>({ isLight }: Kind, by: Actor, recipe: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#pool.transaction(isLight ? begin.light : begin.durable, async (client, begun) => {
      const tx = new Transaction(client, this.#pool, { by, now: this.#options.clock.now() })
      const result = await recipe(tx).catch(error => tx.explain(error))
      await begun
      const appended = { hasEvents: tx.events.length > 0, hasEntries: tx.entries.length > 0 }
      if (isLight && (appended.hasEvents || appended.hasEntries)) tx.send(sql`set local synchronous_commit = on`)
      await this.#commit(client, tx)
      if (appended.hasEvents || appended.hasEntries) this.#options.onAppend(appended)
      return result
    })
  }

  /**
   * Lock, append and commit in one round trip. The lock is a statement of its own, so that the append's snapshot is
   * taken while we hold it; when the append fails, the commit behind it is skipped.
   */
  async #commit(client: pg.PoolClient, tx: Transaction): Promise<void> {
    const { now, by, entries } = tx
    const many = toReserve(tx.events)
    if (many.length > 0) await this.#insertMany(tx, many)
    const events = many.length > 0 ? tx.events.filter(({ inboxId }) => inboxId) : tx.events
    const append = appendJournal({ events, entries, by, now }, this.#options.auditMac)
    const appending = append && [prepared`select pg_advisory_xact_lock(${locks.journal})`, append]
    const appended = (appending ?? []).map(query => tx.ask(query))
    const committing = this.#pool.run(client, COMMIT)
    await allOrFirstFailure([...tx.sent, ...appended, committing])
    if ((await committing).command === 'ROLLBACK')
      throw new Error('a statement failed, and its failure was passed over')
  }

  /** They are inserted while others go on appending. */
  async #insertMany(tx: Transaction, many: readonly EventDraft[]): Promise<void> {
    const reserving = tx.ask<{ first: number }>(reserveIds(many))
    // What was sent before comes first: where it failed, the rest says no more than that the transaction has.
    await allOrFirstFailure([...tx.sent, reserving])
    const { rows } = await reserving
    await tx.ask(insertReserved(many, rows[0]!.first, tx.now))
  }

  async clockSkew(): Promise<Skew> {
    const { clock } = this.#options
    const asked = clock.machine().getTime()
    const time = await this.value<Date>(sql`select clock_timestamp()`)
    const uncertainMs = (clock.machine().getTime() - asked) / 2
    return { aheadMs: time.getTime() - asked - uncertainMs, uncertainMs }
  }

  get connections(): { total: number; idle: number; waiting: number } {
    return this.#pool.counts
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.end(), this.#replica?.end()])
  }
}

class Snapshot extends Reader {
  readonly #many: Db['many']

  constructor(many: Db['many']) {
    super()
    this.#many = many
  }

  many<Row>(query: Sql): Promise<Row[]> {
    return this.#many<Row>(query)
  }
}
