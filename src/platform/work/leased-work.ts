// What a feature declares about its leased work: rows that carry their own due time and lease, attempted outside any
// transaction and recorded with the lease token as a fence. `LeasedWorker` runs it.
import type { Gathering } from '../batcher.ts'
import type { Tx } from '../db/database.ts'
import { sql, type Sql } from '../db/sql.ts'
import type { Topic } from '../db/wakeups.ts'
import type { ShareLimits } from './fair-share.ts'
import type { KeyLimits, Pace } from './key-queue.ts'

/** An item that this process has leased. */
export type Leased<Item> = Item & { leaseToken: string }

export interface Ended<Item, Result> {
  item: Leased<Item>
  result: Result
}

export interface KeyOf {
  key: string
  accountId: string
}

/** Which keys a claim is worth asking for. */
export interface KeysAsked {
  /** Null: any but those excepted. */
  only: readonly string[] | null
  except: readonly string[]
  /** Accounts that have their share: of these only the `known`. */
  exceptAccounts: readonly string[]
  known: readonly string[]
}

/** The condition of a claim: the key of a row, and the account whose it is, are asked for. Both are uuids. */
export const isAsked = (
  { only, except, exceptAccounts, known }: KeysAsked,
  { key, account }: { key: Sql; account: Sql },
): Sql => sql`
  (${only}::uuid[] is null or ${key} = any(${only}::uuid[])) and ${key} <> all(${except}::uuid[])
  and (${account} <> all(${exceptAccounts}::uuid[]) or ${key} = any(${known}::uuid[]))`

export interface Claim<Item> {
  leaseToken: string
  leaseUntil: Date
  limit: number
  inFlight: ReadonlySet<Leased<Item>>
  asked: KeysAsked
  /**
   * How many of each of these keys may be taken, so that they share the limit; in the same order. For tables that know
   * their due keys. What others claim beyond the limit of a key or an account is released at once.
   */
  limitsFor(due: readonly KeyOf[]): number[]
}

export interface WorkLimits {
  /** Items leased at once, in all and by the standing of their keys. */
  inFlight: ShareLimits
  perKey: KeyLimits
  /** Claimed at a time, and how often, while callers wait for an answer from this process. Whatever is in flight. */
  whileCallersWait?: {
    claimMax: number
    everyMs: number
    /** Which callers those are; by default all that the load shedder knows of. */
    doWait?: () => boolean
  }
}

export interface LeasedWork<Item extends object, Result> {
  name: string
  /** Metrics are `sluice_<metric>_in_flight` and `sluice_<metric>_total` by outcome. */
  metric: string
  wakeOn: Topic
  pollSeconds: number
  /** A worker that dies gives its items back when this has passed; the heartbeat keeps those of one that lives. */
  leaseMs: number
  limits: WorkLimits
  /** A crash of the database may undo a light claim or record although it was answered: for what may be done twice. */
  transactions: 'durable' | 'light'
  /** Leases due rows with `for update skip locked`, at most `limit`. */
  claim(tx: Tx, claim: Claim<Item>): Promise<Item[]>
  /** Fetches what attempts need; answers the items that are still wanted. Asked again, now and then, of those that wait. */
  prepare?(items: readonly Leased<Item>[]): Promise<readonly Leased<Item>[]>
  keyOf(item: Item): KeyOf
  /** Memory of an attempt and of its result; what it answers gives it back when the result is on record. */
  reserve?: (item: Leased<Item>, signal: AbortSignal) => Promise<() => void>
  attempt(item: Leased<Item>, signal: AbortSignal): Promise<Result>
  /** What an error of the attempt comes to. Without it the error is logged, and the lease lapses. */
  failed?(item: Leased<Item>, error: unknown): Result
  /** By default a result is quick or slow by the time it took, and an error is unanswered. */
  paceOf?(result: Result): Pace
  /** What the metrics call it. */
  outcomeOf(ended: Ended<Item, Result>): string
  /** Stores results where the lease is still ours; answers those. */
  record(tx: Tx, ended: readonly Ended<Item, Result>[]): Promise<readonly Ended<Item, Result>[]>
  /**
   * Those whose record would have to wait for somebody's lock; it takes the locks of the others. They are recorded behind
   * the others, each account by itself, so that nobody waits with them.
   */
  contended?(tx: Tx, ended: readonly Ended<Item, Result>[]): Promise<readonly Ended<Item, Result>[]>
  /**
   * How many transactions record at once, two by default. With one, more results share each: for records that cost
   * much.
   */
  recordSlots?: number
  /** For records that cost much: while results come in numbers, a transaction waits for more of them. */
  recordGathers?: Gathering
  /** Which part of a transaction a record takes: for those of which one may cost as much as hundreds. */
  recordWeight?(ended: Ended<Item, Result>): number
  /** After the commit, with what was recorded. */
  recorded?(ended: readonly Ended<Item, Result>[]): Promise<void>
  /** Whether a result, once recorded, makes another claim worth while; by default it does. */
  wakesAfter?(result: Result): boolean
  /** Of most tables a `LeasedTable`. */
  leases: Leases<Item>
}

interface Leases<Item> {
  extend(tx: Tx, items: readonly Leased<Item>[], leaseUntil: Date): Promise<unknown>
  /** Gives back what was claimed and not tried, as if it had not been claimed. */
  release(tx: Tx, items: readonly Leased<Item>[]): Promise<unknown>
}
