// The one machine for leased work: claims what is due as far as the limits of keys and accounts allow, attempts it
// outside any transaction, records results in batches, keeps the leases of what is in flight, and drains when the
// process ends. A lease that lapses gives its item back, so a worker that dies loses nothing.
import { randomUUID } from 'node:crypto'
import { system, type Actor } from '../db/actor.ts'
import type { Tx } from '../db/database.ts'
import { retryWhileUnavailable } from '../db/retry.ts'
import { RECORD_MS_MAX, REQUEST_MS_MAX, type Feature } from '../feature.ts'
import type { World } from '../world.ts'
import { FairShare, FREE_MIN } from './fair-share.ts'
import type { KeyQueue, Pace } from './key-queue.ts'
import { KeyQueues } from './key-queues.ts'
import type { KeyOf, KeysAsked, Leased, LeasedWork } from './leased-work.ts'
import { untilDrained } from './recorder.ts'
import { ResultRecorder } from './result-recorder.ts'
import type { Worker } from './worker.ts'

/** A third of the shortest lease: one heartbeat may be lost. */
const HEARTBEAT_SECONDS = 10
/** Items that are no longer wanted are noticed within this time, also when claims are few. */
const RECHECK_MS = 500

export class LeasedWorker<Item extends object, Result> {
  readonly #world: World
  readonly #work: LeasedWork<Item, Result>
  readonly #by: Actor
  readonly #results: ResultRecorder<Item, Result>
  readonly #queues: KeyQueues<Leased<Item>>
  readonly #inFlight = new Set<Leased<Item>>()
  readonly #stopping = new AbortController()
  #recheckedAt = 0
  #waking: NodeJS.Timeout | null = null
  #claimedAt = -Infinity
  /** The last claim left something out: because the worker has its limit, or an account that has its share. */
  #isShort = false
  #endedWhileShort = 0

  constructor(world: World, work: LeasedWork<Item, Result>) {
    this.#world = world
    this.#work = work
    this.#by = system(work.name)
    this.#queues = new KeyQueues(work.limits.perKey)
    world.metrics.gauge(`sluice_${work.metric}_in_flight`, `What ${work.name} has leased here`, [], gauge => {
      gauge.set(this.#inFlight.size)
    })
    this.#results = new ResultRecorder(world, work, recipe => this.#transact(recipe))
  }

  /** What the feature whose work it is has of it: the workers, and how they end with the process. */
  get feature(): Required<Pick<Feature, 'workers' | 'drain' | 'close'>> {
    return {
      workers: this.workers,
      drain: () => this.drain(REQUEST_MS_MAX),
      close: requestsEnd => requestsEnd.then(() => this.close(RECORD_MS_MAX)),
    }
  }

  /** What the supervisor runs. */
  get workers(): Worker[] {
    const { name, wakeOn, pollSeconds } = this.#work
    return [
      { kind: 'due', name, wakeOn, pollSeconds, run: () => this.takeNext() },
      {
        kind: 'periodic',
        name: `${name}-heartbeat`,
        seconds: HEARTBEAT_SECONDS,
        run: (_world, signal) => retryWhileUnavailable(() => this.heartbeat(), signal),
      },
    ]
  }

  /** Claims what is due and starts it; answers how much was started or waits here. */
  async takeNext(): Promise<number> {
    await this.#recheck()
    const now = performance.now()
    await this.#release(this.#queues.active.filter(queue => queue.isLate(now)).flatMap(queue => queue.slowDown()))
    const limit = this.#claimLimit()
    const share = new FairShare(this.#work.limits.inFlight, this.#queues.active)
    const full = share.fullAccounts()
    this.#isShort = limit === 0 || full.size > 0
    this.#endedWhileShort = 0
    if (limit === 0 || this.#stopping.signal.aborted) return 0
    this.#claimedAt = performance.now()
    const leaseToken = randomUUID()
    let isShared = false
    const items = await this.#transact(tx =>
      this.#work.claim(tx, {
        leaseToken,
        leaseUntil: this.#leaseEnd(tx),
        limit,
        inFlight: this.#inFlight,
        asked: this.#keysToAsk(share, full),
        limitsFor: due => {
          isShared = true
          return this.#limitsFor(due, limit, share)
        },
      }),
    )
    return this.#start(
      items.map(item => ({ ...item, leaseToken })),
      isShared ? null : share,
    )
  }

  /** Keeps the leases of what is in flight, with what waits to be recorded. */
  async heartbeat(): Promise<void> {
    if (this.#inFlight.size === 0) return
    const { db } = this.#world
    await db.transactLightly(this.#by, tx => this.#work.leases.extend(tx, [...this.#inFlight], this.#leaseEnd(tx)))
  }

  /** Releases what waits, and gives what is under way `timeoutMs` to end. */
  async drain(timeoutMs: number): Promise<void> {
    this.#stopping.abort()
    await this.#release(this.#queues.active.flatMap(queue => queue.waiting.splice(0)))
    await this.idle(timeoutMs)
  }

  /** Waits until nothing is in flight, for `timeoutMs` at the most. */
  idle(timeoutMs: number): Promise<void> {
    return untilDrained(this.#inFlight, timeoutMs)
  }

  /**
   * After `drain`, once the network is closed: attempts that this cut have a result now, which gets `timeoutMs` to be
   * recorded. What is not recorded is given back by its lease.
   */
  async close(timeoutMs: number): Promise<void> {
    await this.idle(timeoutMs)
    const results = this.#results.giveUp()
    if (results > 0)
      this.#world.log.error({ worker: this.#work.name, results }, 'known results are lost with this process')
  }

  #transact<T>(recipe: (tx: Tx) => Promise<T>): Promise<T> {
    const { db } = this.#world
    return this.#work.transactions === 'light' ? db.transactLightly(this.#by, recipe) : db.transact(this.#by, recipe)
  }

  #leaseEnd(tx: Tx): Date {
    return new Date(tx.now.getTime() + this.#work.leaseMs)
  }

  #claimLimit(): number {
    const { inFlight, whileCallersWait } = this.#work.limits
    const free = Math.max(0, inFlight.all - this.#inFlight.size)
    if (!whileCallersWait || !(whileCallersWait.doWait?.() ?? this.#world.load.callersWait)) return free
    const earlyMs = this.#claimedAt + whileCallersWait.everyMs - performance.now()
    if (earlyMs <= 0) return Math.min(free, whileCallersWait.claimMax)
    this.#wakeIn(earlyMs)
    return 0
  }

  /** The callers may be gone by then, and nobody else would say so. */
  #wakeIn(milliseconds: number): void {
    if (this.#waking) return
    this.#waking = setTimeout(() => {
      this.#waking = null
      this.#wake()
    }, milliseconds).unref()
  }

  /** Keys that this process does not know are new. Where none of those may be taken, only known ones are asked for. */
  #keysToAsk(share: FairShare, full: ReadonlySet<string>): KeysAsked {
    const isWorthIt = (queue: KeyQueue<unknown>): boolean =>
      queue.isLow && share.freeFor(queue.standing, queue.accountId) > 0
    const keysOf = (queues: KeyQueue<unknown>[]): string[] => queues.map(queue => queue.key)
    const worthy = Map.groupBy(this.#queues.all, isWorthIt)
    const [good, rest] = [worthy.get(true) ?? [], worthy.get(false) ?? []]
    if (!share.mayTakeStrangers) return { only: keysOf(good), except: [], exceptAccounts: [], known: [] }
    const known = keysOf(good.filter(queue => full.has(queue.accountId)))
    return { only: null, except: keysOf(rest), exceptAccounts: [...full], known }
  }

  #limitsFor(due: readonly KeyOf[], limit: number, share: FairShare): number[] {
    const each = Math.max(1, Math.floor(limit / due.length))
    return due.map(of => {
      const queue = this.#queues.of(of)
      return share.take(queue.standing, of.accountId, Math.min(each, queue.free))
    })
  }

  /** A claim that did not share its limit out releases what is beyond the limits of its keys and accounts. */
  async #start(claimed: readonly Leased<Item>[], share: FairShare | null): Promise<number> {
    if (claimed.length === 0) return 0
    for (const item of claimed) this.#inFlight.add(item)
    const taken = new Set<Leased<Item>>()
    try {
      for (const item of (await this.#work.prepare?.(claimed)) ?? claimed) {
        const queue = this.#queues.of(this.#work.keyOf(item))
        if (share && (queue.free === 0 || share.take(queue.standing, queue.accountId, 1) === 0)) continue
        taken.add(item)
        this.#queues.put(queue, item)
        this.#pump(queue)
      }
    } finally {
      // Also when they could not be prepared: a heartbeat would keep their leases alive with nobody to attempt them.
      await this.#release(claimed.filter(item => !taken.has(item)))
    }
    return taken.size
  }

  /** What waits here and is no longer wanted goes back. */
  async #recheck(): Promise<void> {
    if (!this.#work.prepare || performance.now() - this.#recheckedAt < RECHECK_MS) return
    this.#recheckedAt = performance.now()
    const queues = this.#queues.active.filter(queue => queue.waiting.length > 0)
    if (queues.length === 0) return
    const wanted = new Set(await this.#work.prepare(queues.flatMap(queue => queue.waiting)))
    const unwanted = queues.flatMap(queue => {
      const waiting = queue.waiting.splice(0)
      for (const item of waiting) if (wanted.has(item)) queue.waiting.push(item)
      return waiting.filter(item => !wanted.has(item))
    })
    await this.#release(unwanted)
  }

  #pump(queue: KeyQueue<Leased<Item>>): void {
    while (queue.mayStart && !this.#stopping.signal.aborted) void this.#run(queue, queue.start(performance.now()))
  }

  async #run(queue: KeyQueue<Leased<Item>>, item: Leased<Item>): Promise<void> {
    const wasLow = queue.isLow
    const giveBack = this.#work.reserve ? await this.#reserve(item, this.#work.reserve) : () => {}
    // Not tried: the process ends.
    if (!giveBack) return this.#release([item])
    const { result, pace } = await this.#attempt(item)
    void this.#release(queue.end(item, pace))
    this.#pump(queue)
    // Before the result is on record: a quick key would run dry meanwhile. With one at a time there is nothing to claim yet.
    const claimsAhead = this.#work.limits.perKey.aheadMax > 1
    if (claimsAhead && ((!wasLow && queue.isLow) || this.#mayClaimAgain())) this.#wake()
    try {
      if (result) await this.#results.record({ item, result: result.value })
    } catch (err) {
      // The lease gives it back. It may be done twice: better than never.
      this.#world.log.error({ err, worker: this.#work.name, key: queue.key }, 'a result could not be recorded')
    } finally {
      giveBack()
      this.#inFlight.delete(item)
      this.#queues.noteEnd(queue)
      const wakes = result !== null && (this.#work.wakesAfter?.(result.value) ?? true)
      if (wakes || (!claimsAhead && this.#isShort)) this.#wake()
    }
  }

  /** Null: the process ended while it waited. */
  async #reserve(
    item: Leased<Item>,
    reserve: NonNullable<LeasedWork<Item, Result>['reserve']>,
  ): Promise<(() => void) | null> {
    try {
      return await reserve(item, this.#stopping.signal)
    } catch (error) {
      if (this.#stopping.signal.aborted) return null
      throw error
    }
  }

  /** Null: the attempt says nothing that could be recorded. */
  async #attempt(item: Leased<Item>): Promise<{ result: { value: Result } | null; pace: Pace }> {
    const work = this.#work
    const began = performance.now()
    try {
      const value = await work.attempt(item, this.#stopping.signal)
      const isQuick = performance.now() - began <= work.limits.perKey.quickMs
      return { result: { value }, pace: work.paceOf?.(value) ?? (isQuick ? 'quick' : 'slow') }
    } catch (err) {
      if (work.failed) return { result: { value: work.failed(item, err) }, pace: 'unanswered' }
      this.#world.log.error({ err, worker: work.name, key: work.keyOf(item).key }, 'an attempt could not be made')
      return { result: null, pace: 'unanswered' }
    }
  }

  #mayClaimAgain(): boolean {
    if (!this.#isShort) return false
    this.#endedWhileShort += 1
    return this.#endedWhileShort % FREE_MIN === 0 || this.#inFlight.size < FREE_MIN
  }

  #wake(): void {
    this.#world.wakeups.nudge(this.#work.wakeOn)
  }

  async #release(items: readonly Leased<Item>[]): Promise<void> {
    if (items.length === 0) return
    // Where the database is away, the leases lapse.
    await this.#world.db.transactLightly(this.#by, tx => this.#work.leases.release(tx, items)).catch(() => {})
    for (const item of items) this.#inFlight.delete(item)
  }
}
