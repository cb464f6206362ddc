// This process as a holder of leases: it shows that it lives, and proves after an outage what is its own. Others judge by
// this whether a lease that lapsed means a crash.
import { randomUUID } from 'node:crypto'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import type { Lease } from '../queue/keys.ts'
import { extendLeases, retakeLeases, updateBegun, type AttemptLease } from '../queue/leases.ts'
import { beat, isSteady, updateLeft } from './holder-queries.ts'

/** A worker that dies gives its mail back within 35 s: this, and the round that looks for lapsed leases. */
export const LEASE_MS = 30_000
/**
 * Heartbeats come every 5 s and are tried again at once while the database is away; a statement to a database that hangs
 * fails after 10 s. So a gap that is longer says that the database was away, and 15 s after it is back every process that
 * lives has shown it.
 */
const BEAT_GAP_MS_MAX = 12_000
const STEADY_MS_MIN = 15_000
const BEAT_EVERY_MS = 5_000
/**
 * After an outage, for claims: in which every process takes back what is its own. A crash closes all connections, so each
 * process notices it, looks within a second whether a heartbeat is due, and tries that every half second until it succeeds.
 */
const SETTLE_MS = 3_000
const LEAVE_MS_MAX = 1_000

const by = system('delivery')

export class Holder {
  readonly id = randomUUID()
  readonly #world: World
  /** How many losses of the database lie before the last heartbeat. */
  #lossesSeen = 0
  #beatAt = -Infinity
  #proving: Promise<void> = Promise.resolve()

  constructor(world: World) {
    this.#world = world
  }

  /**
   * Whether new mail may be claimed. Right after an outage what looks unclaimed may be in the hands of a process that has
   * not yet been able to say so, this one included: a crash of the database undoes its last claims.
   */
  get mayClaim(): boolean {
    return !this.mustProve && this.#world.db.continuity.steadyMs >= SETTLE_MS
  }

  /** Whether the database was lost since the last heartbeat: until then any of our leases may have been undone. */
  get mustProve(): boolean {
    return this.#world.db.continuity.losses !== this.#lossesSeen
  }

  /** Every 5 s, and at once when the database was lost: then it is tried until the database is back. */
  get isBeatDue(): boolean {
    return this.mustProve || performance.now() - this.#beatAt >= BEAT_EVERY_MS
  }

  /**
   * Ends when no leases are being taken back. Mail that goes back to the queue waits for this: what was listed a moment
   * before would be leased again, with nobody to send it.
   */
  get proven(): Promise<void> {
    return this.#proving
  }

  /**
   * Shows that this process lives and keeps its leases, in one transaction: a reader that sees the heartbeat sees the
   * leases extended. They are listed as late as possible, because mail goes back to the queue meanwhile.
   */
  async beat(leases: () => readonly AttemptLease[] = () => []): Promise<void> {
    const { losses } = this.#world.db.continuity
    const beating = this.#beat(leases, losses !== this.#lossesSeen)
    if (this.mustProve) this.#proving = beating.catch(() => {})
    await beating
    this.#lossesSeen = losses
    this.#beatAt = performance.now()
  }

  async #beat(leases: () => readonly AttemptLease[], mustRetake: boolean): Promise<void> {
    await this.#world.db.transactLightly(by, async tx => {
      beat(tx, { id: this.id, gapMs: BEAT_GAP_MS_MAX })
      const listed = leases()
      if (listed.length === 0) return
      if (mustRetake) await this.retake(tx, listed)
      await extendLeases(tx, listed, leaseEnd(tx))
    })
  }

  retake(tx: Tx, leases: readonly AttemptLease[]): Promise<number> {
    return retakeLeases(tx, leases, { holderId: this.id, leaseUntil: leaseEnd(tx) })
  }

  /**
   * Whether this process may say of another that it is gone: not unless it has reached the database all the time itself,
   * because the other may be coming back from the same outage.
   */
  mayJudge(tx: Tx): Promise<boolean> {
    return isSteady(tx, { id: this.id, now: tx.now, gapMs: BEAT_GAP_MS_MAX, steadyMs: STEADY_MS_MIN })
  }

  async markBegun(leases: readonly Lease[], isBegun: boolean): Promise<void> {
    await this.#world.db.transactLightly(by, tx => updateBegun(tx, leases, isBegun))
  }

  /** What it leaves behind is no crash. Where the database is away, its leases are judged by their age. */
  async leave(): Promise<void> {
    const left = this.#world.db.transactLightly(by, tx => updateLeft(tx, this.id)).catch(() => {})
    await Promise.race([left, new Promise(resolve => setTimeout(resolve, LEAVE_MS_MAX).unref())])
  }
}

export const leaseEnd = (tx: Tx): Date => new Date(tx.now.getTime() + LEASE_MS)
