// Open connections, per next hop and in all. A message gets one that is idle, or leave to open one, or
// waits in line for the same host. A slow host keeps its own messages waiting and no others.
import type { Clock } from '../../platform/clock.ts'
import { AbortHub } from './abort-hub.ts'
import type { Connection } from './connection.ts'
import { ConnectionShares, type Owner } from './connection-shares.ts'
import type { Hop } from './next-hops.ts'
import { countOf, isServed, newHopPool, takeIdle, type HopPool, type Waiter, type Want } from './hop-pool.ts'
import { Failure, LineTimeout, type Timeouts } from './outcome.ts'
import { satisfies, type TlsPolicy } from './tls-policy.ts'

interface PoolOptions {
  perHostMax: number
  totalMax: number
  usesMax: number
  idleMs: number
  lineMs: number
  timeouts: Timeouts
  clock: Clock
}

/** After a host has refused a connection it is not offered more than it has for this long. */
const CEILING_MS = 30_000

export class Pool {
  readonly #options: PoolOptions
  readonly #hopPools = new Map<string, HopPool>()
  readonly #byHost = new Map<string, number>()
  /** Hops that want to open a connection, in the order in which they get to: round robin, one at a time. */
  readonly #wanting = new Set<HopPool>()
  /** Hops whose mail is all of owners that have their share: they want again when a connection is given back. */
  readonly #blocked = new Set<HopPool>()
  readonly #shares: ConnectionShares
  readonly #aborts = new AbortHub()
  #total = 0
  #isClosed = false
  #onEmpty: (() => void) | null = null

  constructor(options: PoolOptions) {
    this.#options = options
    this.#shares = new ConnectionShares(options.totalMax)
  }

  /** An idle connection, without waiting. */
  takeReady(hop: Hop, policy: TlsPolicy, owner: Owner): Connection | null {
    const connection = takeIdle(this.#hopPools.get(hop.key), policy)
    if (connection) this.#shares.take(connection, owner)
    return connection
  }

  /**
   * Stands in line. Rejects with a `Failure` when no connection can be opened, with `LineTimeout` when it waits too
   * long, or with the reason of the signal.
   */
  async acquire(want: Want): Promise<Connection> {
    for (let isAgain = want.isFresh; ; isAgain = true) {
      const granted = await this.#stand(want, { isFirst: isAgain })
      if (granted) return granted
      try {
        return await this.#open(want)
      } catch (failure) {
        if (!(failure instanceof Failure) || !isHostFailure(failure)) throw failure
        // The host refuses further connections but serves the ones it has, or may yet take one: wait for that. The
        // mail would otherwise be deferred for a limit that it has not reached itself.
        const hopPool = this.#hopPools.get(want.hop.key)
        if (want.isFresh || !hopPool || (hopPool.opening === 0 && !isServed(hopPool, want.policy))) throw failure
      }
    }
  }

  /** After a transaction, whatever became of it. */
  release(hop: Hop, connection: Connection): void {
    const { timeouts, usesMax } = this.#options
    this.#shares.end(connection)
    this.#unblock()
    if (!connection.isUsable) return
    if (this.#isClosed || connection.uses >= usesMax) return connection.quit(timeouts.quitMs)
    if (!connection.needsReset) return this.#keepIdle(hop, connection)
    connection.needsReset = false
    connection.write('RSET\r\n', 1)
    connection.read('mail', timeouts.commandMs).then(
      reply => (reply.code < 300 ? this.#keepIdle(hop, connection) : connection.quit(timeouts.quitMs)),
      () => {}, // it has ended, and the pool of its hop hears of it
    )
  }

  countByHost(): Map<string, number> {
    return new Map(this.#byHost)
  }

  /** Rejects what waits, closes idle connections, and waits until the busy ones are done. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const hopPool of this.#hopPools.values()) {
      for (const { reject } of hopPool.waiting.splice(0)) reject(new Error('the transport is closed'))
      for (const connection of hopPool.idle.splice(0)) connection.quit(this.#options.timeouts.quitMs)
      this.#dropIfEmpty(hopPool)
    }
    if (this.#total > 0) await new Promise<void>(resolve => (this.#onEmpty = resolve))
  }

  #stand(want: Want, { isFirst }: { isFirst: boolean }): Promise<Connection | null> {
    if (this.#isClosed) return Promise.reject(new Error('the transport is closed'))
    want.signal?.throwIfAborted()
    const hopPool = this.#hopPoolOf(want.hop)
    const { promise, resolve, reject } = Promise.withResolvers<Connection | null>()
    const leave = (reason: unknown): void => {
      hopPool.waiting = hopPool.waiting.filter(other => other !== waiter)
      this.#dropIfEmpty(hopPool)
      waiter.reject(reason)
    }
    const forget = this.#aborts.listen(want.signal, () => leave(want.signal!.reason))
    const timer = setTimeout(() => leave(new LineTimeout()), this.#options.lineMs)
    const stop = (): void => {
      forget()
      clearTimeout(timer)
    }
    const waiter: Waiter = {
      want,
      grant: connection => {
        stop()
        resolve(connection)
      },
      reject: error => {
        stop()
        reject(error)
      },
    }
    if (isFirst) hopPool.waiting.unshift(waiter)
    else hopPool.waiting.push(waiter)
    this.#grantNext(hopPool)
    return promise
  }

  async #open(want: Want): Promise<Connection> {
    const hopPool = this.#hopPoolOf(want.hop)
    const opening = want.open().then(
      connection => this.#adopt(hopPool, want, connection),
      (failure: unknown) => this.#giveUp(hopPool, want, failure),
    )
    if (!want.signal) return await opening
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const stop = this.#aborts.listen(want.signal, () => reject(want.signal!.reason))
    try {
      return await Promise.race([opening, aborted])
    } catch (error) {
      // What comes too late for this one is handed on to others.
      if (want.signal.aborted) void opening.then(connection => this.release(want.hop, connection)).catch(() => {})
      throw error
    } finally {
      stop()
    }
  }

  #adopt(hopPool: HopPool, { owner }: Want, connection: Connection): Connection {
    hopPool.opening -= 1
    hopPool.open.add(connection)
    this.#shares.adopt(connection, owner)
    void connection.closed.finally(() => {
      this.#shares.end(connection)
      hopPool.open.delete(connection)
      hopPool.idle = hopPool.idle.filter(other => other !== connection)
      this.#free(hopPool)
    })
    if (!this.#isClosed) return connection
    connection.quit(this.#options.timeouts.quitMs)
    throw new Error('the transport is closed')
  }

  #giveUp(hopPool: HopPool, { policy, owner }: Want, failure: unknown): never {
    hopPool.opening -= 1
    this.#shares.giveUp(owner)
    if (failure instanceof Failure) {
      hopPool.ceiling = Math.max(1, countOf(hopPool))
      hopPool.ceilingUntil = this.#now() + CEILING_MS
      // No connection is open or being opened: the messages in line need not find it out one by one.
      if (countOf(hopPool) === 0) {
        const isAlike = ({ want }: Waiter): boolean => isHostFailure(failure) || want.policy.key === policy.key
        for (const waiter of hopPool.waiting.filter(isAlike)) waiter.reject(failure)
        hopPool.waiting = hopPool.waiting.filter(waiter => !isAlike(waiter))
      }
    }
    this.#free(hopPool)
    throw failure
  }

  #keepIdle(hop: Hop, connection: Connection): void {
    if (this.#isClosed) return connection.quit(this.#options.timeouts.quitMs)
    const hopPool = this.#hopPoolOf(hop)
    connection.isKept = true
    if (this.#mustYield(hopPool)) return connection.quit(this.#options.timeouts.quitMs)
    const index = hopPool.waiting.findIndex(({ want }) => !want.isFresh && satisfies(connection, want.policy))
    if (index === -1) {
      hopPool.idle.push(connection)
      connection.markIdle(this.#options.idleMs, this.#options.timeouts.quitMs)
    } else {
      const [waiter] = hopPool.waiting.splice(index, 1)
      this.#shares.take(connection, waiter!.want.owner)
      waiter!.grant(connection)
    }
    // An idle one takes a connection that others may want; a busy hop may find its ceiling lifted.
    if (index === -1 ? this.#wanting.size > 0 || hopPool.waiting.length > 0 : hopPool.ceilingUntil > 0)
      this.#grantNext(hopPool)
  }

  /** All connections are taken and some host waits for its first connection: one with several gives one up for it. */
  #mustYield(hopPool: HopPool): boolean {
    if (this.#total < this.#options.totalMax || countOf(hopPool) < 2) return false
    for (const next of this.#wanting) if (countOf(next) === 0 && next.waiting.some(this.#mayOpen)) return true
    return false
  }

  #grantNext(hopPool: HopPool): void {
    if (hopPool.waiting.length > 0) this.#wanting.add(hopPool)
    // A hop that may open one goes to the end of the set, and is met there again: so all hops are served round robin.
    for (const next of this.#wanting) {
      if (this.#total >= this.#options.totalMax) return this.#closeIdle()
      this.#wanting.delete(next)
      if (next.waiting.length === 0) continue
      const at = next.waiting.findIndex(this.#mayOpen)
      if (at === -1) {
        this.#blocked.add(next)
        continue
      }
      if (countOf(next) >= this.#limitOf(next)) {
        next.idle.shift()?.quit(this.#options.timeouts.quitMs)
        continue
      }
      next.opening += 1
      this.#count(next, 1)
      const [waiter] = next.waiting.splice(at, 1)
      this.#shares.open(waiter!.want.owner)
      waiter!.grant(null)
      if (next.waiting.length > 0) this.#wanting.add(next)
    }
  }

  #unblock(): void {
    for (const hopPool of this.#blocked) this.#wanting.add(hopPool)
    this.#blocked.clear()
  }

  readonly #mayOpen = ({ want }: Waiter): boolean => this.#shares.mayOpen(want.owner)

  /** All connections are in use or idle; an idle one, of whichever hop, is given up for one that is wanted. */
  #closeIdle(): void {
    for (const hopPool of this.#hopPools.values()) {
      const idle = hopPool.idle.shift()
      if (idle) return idle.quit(this.#options.timeouts.quitMs)
    }
  }

  #free(hopPool: HopPool): void {
    this.#count(hopPool, -1)
    this.#unblock()
    this.#grantNext(hopPool)
    this.#dropIfEmpty(hopPool)
    if (this.#total === 0) this.#onEmpty?.()
  }

  #count(hopPool: HopPool, change: number): void {
    this.#total += change
    const count = (this.#byHost.get(hopPool.host) ?? 0) + change
    if (count > 0) this.#byHost.set(hopPool.host, count)
    else this.#byHost.delete(hopPool.host)
  }

  /** From half full on, the more are open the fewer each gets: hosts that hang must leave some for one that does not. */
  #limitOf({ ceiling, ceilingUntil, connectionsMax }: HopPool): number {
    const { totalMax } = this.#options
    const perHostMax = Math.min(this.#options.perHostMax, connectionsMax)
    const free = (totalMax - this.#total) / totalMax
    const limit = Math.min(perHostMax, Math.max(1, Math.ceil(perHostMax * 2 * free)))
    return ceilingUntil > this.#now() ? Math.min(ceiling, limit) : limit
  }

  #hopPoolOf(hop: Hop): HopPool {
    const existing = this.#hopPools.get(hop.key)
    if (existing) return existing
    const hopPool = newHopPool(hop)
    this.#hopPools.set(hop.key, hopPool)
    return hopPool
  }

  #dropIfEmpty(hopPool: HopPool): void {
    if (countOf(hopPool) > 0 || hopPool.waiting.length > 0) return
    this.#hopPools.delete(hopPool.key)
    this.#wanting.delete(hopPool)
    this.#blocked.delete(hopPool)
  }

  #now(): number {
    return this.#options.clock.now().getTime()
  }
}

/** It says something about the host, whatever a message demands. */
const isHostFailure = ({ phase }: Failure): boolean => phase === 'dns' || phase === 'connect' || phase === 'greeting'
