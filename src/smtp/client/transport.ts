// The way out: given a destination domain and a message for recipients there, finds the next hop, talks SMTP to it and
// answers one outcome per recipient. Knows nothing of queues, tenants or retries.
import assert from 'node:assert/strict'
import { isIP, isIPv6 } from 'node:net'
import { systemClock, type Clock } from '../../platform/clock.ts'
import type { SmtpRoute } from '../../platform/config.ts'
import type { CidrList } from '../../platform/net/cidr.ts'
import type { Dns } from '../../platform/net/dns.ts'
import { mayConnect } from '../../platform/net/address-guard.ts'
import type { Connection } from './connection.ts'
import { policyFetcher } from './mta-sts-fetch.ts'
import { StsPolicies, type StsStore } from './mta-sts.ts'
import { inOrder, NextHops, type Hop } from './next-hops.ts'
import { openSession, type SessionSettings } from './open-session.ts'
import {
  DEFAULT_TIMEOUTS,
  Failure,
  LineTimeout,
  outcomeOf,
  type Envelope,
  type SendResult,
  type Timeouts,
} from './outcome.ts'
import { Penalties } from './penalties.ts'
import { Pool } from './pool.ts'
import { inParts, isTooMany, isTurnedAway, toAll } from './send-results.ts'
import { TlsPolicies } from './tls-policies.ts'
import type { TlsPolicy } from './tls-policy.ts'
import { STALE, transact } from './transaction.ts'

export type { Envelope, Outcome, Phase, Timeouts } from './outcome.ts'

export interface TransportOptions {
  helloName: string
  routes: readonly SmtpRoute[]
  /** One that validates, and was named by the operator, turns DANE on. */
  dns: Dns
  allowPrivate: CidrList
  connectionsPerHostMax?: number
  connectionsMax?: number
  messagesPerConnectionMax?: number
  idleMs?: number
  /** How long mail waits for a connection at the most. */
  lineMs?: number
  timeouts?: Partial<Timeouts>
  clock?: Clock
  /** Where policies of MTA-STS outlive the process. */
  stsStore?: StsStore
  /** Certificates (PEM) to trust besides the usual authorities, where a policy demands verification. */
  trustedCertificates?: readonly string[]
  /** Where MX hosts and policy hosts listen; other ports are for tests. */
  mxPort?: number
  mtaStsPort?: number
}

/** Receivers commonly allow ten to fifty connections of one sender; Postfix opens twenty. */
const CONNECTIONS_PER_HOST_MAX = 20
const CONNECTIONS_MAX = 500
/** The usual limit of large receivers. Opening costs about as much as four messages, so it is 4 % of the work. */
const MESSAGES_PER_CONNECTION_MAX = 100
/** Bridges the gap between two claimed batches; receivers close after 10 s to 5 min. */
const IDLE_MS = 5_000
/** Messages that wait here cannot be put in another order any more. */
const LINE_MS = 5_000
/** Of a host with many addresses, so many of each family are tried. */
const ADDRESSES_PER_FAMILY_MAX = 2

export class Transport {
  readonly #settings: SessionSettings
  readonly #allowPrivate: CidrList
  readonly #penalties: Penalties
  readonly #dns: Dns
  readonly #nextHops: NextHops
  readonly #tlsPolicies: TlsPolicies
  readonly #pool: Pool
  /** Every socket there is, those of connections being opened included. */
  readonly #sockets = new Set<Connection>()

  constructor(options: TransportOptions) {
    const { routes, dns, helloName, clock = systemClock(), trustedCertificates: trusted = [] } = options
    const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts }
    this.#settings = { helloName, timeouts, clock, trusted }
    this.#allowPrivate = options.allowPrivate
    this.#penalties = new Penalties(clock)
    this.#dns = dns
    const fetchText = policyFetcher({
      dns,
      allowed: options.allowPrivate,
      port: options.mtaStsPort ?? 443,
      timeoutMs: timeouts.policyMs,
      trusted,
    })
    const sts = new StsPolicies({ clock, txt: name => dns.cached.txt(name), fetchText, store: options.stsStore })
    this.#nextHops = new NextHops({ routes, mxPort: options.mxPort ?? 25, clock, dns, sts })
    this.#tlsPolicies = new TlsPolicies({ clock, dns })
    this.#pool = new Pool({
      perHostMax: options.connectionsPerHostMax ?? CONNECTIONS_PER_HOST_MAX,
      totalMax: options.connectionsMax ?? CONNECTIONS_MAX,
      usesMax: options.messagesPerConnectionMax ?? MESSAGES_PER_CONNECTION_MAX,
      idleMs: options.idleMs ?? IDLE_MS,
      lineMs: options.lineMs ?? LINE_MS,
      timeouts,
      clock,
    })
  }

  /**
   * One outcome per recipient, in their order. Rejects only when the signal ends the waiting for a connection (a
   * transaction that has begun is finished), when the transport is closed, or for a mistake of ours.
   */
  send(domain: string, envelope: Envelope, signal?: AbortSignal): Promise<SendResult[]> {
    return inParts(envelope, part => this.#deliver(domain, part, signal))
  }

  /** By way of a server that the sender has an account at: recipients of all domains share a transaction. */
  sendThrough(relay: Relay, envelope: Envelope, signal?: AbortSignal): Promise<SendResult[]> {
    const { security, user, accessToken, ...server } = relay
    const auth = { user, accessToken }
    const hop: Hop = { ...server, isStatic: true, auth, preference: 0, isImplicitTls: security === 'implicit' }
    const route = { hops: [hop], mustVerify: security !== 'clear' }
    return inParts(envelope, part => this.#deliverBy(route, part, signal))
  }

  connectionsByHost(): Map<string, number> {
    return this.#pool.countByHost()
  }

  /** No new sends, waiting ones reject, running transactions get a while to end: the longer where a cut may send twice. */
  async close(): Promise<void> {
    const { closeMs, leaveMs } = this.#settings.timeouts
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timers = [
      setTimeout(() => this.#cut(connection => !connection.awaitsVerdict), leaveMs),
      setTimeout(() => resolve(this.#cut(() => true)), closeMs),
    ]
    await Promise.race([this.#pool.close(), late])
    for (const timer of timers) clearTimeout(timer)
  }

  #cut(which: (connection: Connection) => boolean): void {
    for (const connection of this.#sockets) if (which(connection)) connection.destroy('the transport is closed')
  }

  async #deliver(domain: string, envelope: Envelope, signal: AbortSignal | undefined): Promise<SendResult[]> {
    signal?.throwIfAborted()
    const route = await this.#nextHops.routeFor(domain)
    return route.kind === 'none'
      ? toAll(envelope, outcomeOf(route.failure, null))
      : this.#deliverBy(route, envelope, signal)
  }

  async #deliverBy(route: Hops, envelope: Envelope, signal: AbortSignal | undefined): Promise<SendResult[]> {
    let failed: { failure: Failure; hop: Hop } | null = null
    let turnedAway: SendResult[] | null = null
    for (const hop of inOrder(route.hops, this.#penalties)) {
      signal?.throwIfAborted()
      try {
        const demands = { mustVerify: route.mustVerify, requireTls: envelope.requireTls }
        const policy = await this.#tlsPolicies.policyFor(hop, demands)
        const results = await this.#converseInParts(hop, policy, envelope, signal)
        if (!results.every(isTurnedAway)) return results
        // It hung up, or was about to, before it had the message: another host may take it.
        this.#penalties.add(hop.key)
        turnedAway = results
      } catch (failure) {
        if (failure instanceof LineTimeout) return toAll(envelope, { kind: 'waited_too_long' })
        if (!(failure instanceof Failure)) throw failure
        if (failure.phase === 'connect' || failure.phase === 'greeting') this.#penalties.add(hop.key)
        // As long as one host may do better later, the mail is not lost.
        if (!failed || (failed.failure.isPermanent && !failure.isPermanent)) failed = { failure, hop }
      }
    }
    return turnedAway ?? toAll(envelope, outcomeOf(failed!.failure, failed!.hop.host))
  }

  /** A receiver that takes fewer recipients at a time than it was offered gets the others next (RFC 5321 §4.5.3.1.10). */
  async #converseInParts(hop: Hop, policy: TlsPolicy, envelope: Envelope, signal: AbortSignal | undefined) {
    const results = await this.#converse(hop, policy, envelope, signal)
    for (let last = results; last.some(({ kind }) => kind === 'delivered');) {
      const rest = [...results.keys()].filter(index => isTooMany(results[index]!))
      if (rest.length === 0) break
      const recipients = rest.map(index => envelope.recipients[index]!)
      // Whatever keeps the others from being sent now, recipients that have the message must not get it again.
      last = await this.#converse(hop, policy, { ...envelope, recipients }, signal).catch(() => [])
      if (last.length === 0) break
      for (const [at, index] of rest.entries()) results[index] = last[at]!
    }
    return results
  }

  async #converse(hop: Hop, policy: TlsPolicy, envelope: Envelope, signal?: AbortSignal): Promise<SendResult[]> {
    const { owner } = envelope
    const acquire = (isFresh: boolean): Promise<Connection> =>
      this.#pool.acquire({ hop, policy, open: () => this.#open(hop, policy), signal, isFresh, owner })
    for (const isFresh of [false, true]) {
      const connection = (isFresh ? null : this.#pool.takeReady(hop, policy, owner)) ?? (await acquire(isFresh))
      // Asked again for a fresh connection: it may have taken half a minute to open.
      if (!(await this.#isAllowed(hop, connection, envelope))) {
        return envelope.recipients.map(() => ({ kind: 'withheld' }))
      }
      const outcomes = await transact(connection, envelope, this.#settings.timeouts)
      this.#pool.release(hop, connection)
      if (outcomes !== STALE) return outcomes
    }
    assert.fail('a fresh connection is not stale')
  }

  /** The connection goes back untouched when the answer is no, or when there is none. */
  async #isAllowed(hop: Hop, connection: Connection, { mayBegin }: Envelope): Promise<boolean> {
    let isAllowed = false
    try {
      isAllowed = await mayBegin({ isClear: !connection.isTls })
      return isAllowed
    } finally {
      if (!isAllowed) this.#pool.release(hop, connection)
    }
  }

  async #open(hop: Hop, policy: TlsPolicy): Promise<Connection> {
    const mayReach = (address: string): boolean => hop.isStatic || mayConnect(address, this.#allowPrivate)
    const ipv6Key = `ipv6 ${hop.key}`
    const target = {
      host: hop.host,
      port: hop.port,
      addresses: await this.#addressesOf(hop, mayReach, { isIpv4First: this.#penalties.has(ipv6Key) }),
      policy,
      auth: hop.auth,
      isImplicitTls: hop.isImplicitTls ?? false,
      mayConnect: mayReach,
      onConnectFailed: (address: string) => {
        if (isIPv6(address)) this.#penalties.add(ipv6Key)
      },
      onSocket: (connection: Connection) => {
        this.#sockets.add(connection)
        void connection.closed.finally(() => this.#sockets.delete(connection))
      },
    }
    return await openSession(target, this.#settings)
  }

  async #addressesOf(hop: Hop, mayReach: (address: string) => boolean, { isIpv4First }: { isIpv4First: boolean }) {
    if (hop.isStatic && isIP(hop.host) !== 0) return [hop.host]
    let answer = await this.#dns.cached.addresses(hop.host)
    if (hop.isStatic && answer.kind !== 'found') answer = await this.#dns.systemAddresses(hop.host)
    if (answer.kind === 'failed') throw new Failure({ phase: 'dns', reason: answer.reason })
    // A name that the operator gave is the operator's to mend; no message may bounce for it.
    if (answer.kind === 'none' && hop.isStatic) throw new Failure({ phase: 'dns', reason: 'has no address' })
    if (answer.kind === 'none') {
      throw new Failure({ phase: 'dns', reason: 'has no address', isPermanent: true, code: '5.4.4' })
    }
    const reachable = answer.values.filter(mayReach)
    if (reachable.length === 0) {
      const reason = 'has only addresses that mail must not be sent to'
      throw new Failure({ phase: 'dns', reason, isPermanent: true, code: '5.4.4' })
    }
    const six = reachable.filter(isIPv6).slice(0, ADDRESSES_PER_FAMILY_MAX)
    const four = reachable.filter(address => !isIPv6(address)).slice(0, ADDRESSES_PER_FAMILY_MAX)
    return isIpv4First ? [...four, ...six] : [...six, ...four]
  }
}

type Hops = { hops: readonly Hop[]; mustVerify: boolean }

/** A server that takes mail from its own users to everybody. */
export interface Relay {
  /** Connections under the same key are interchangeable: they have the same login. */
  key: string
  host: string
  port: number
  /** `clear` is for a server on this machine. */
  security: 'implicit' | 'starttls' | 'clear'
  user: string
  accessToken: string
  connectionsMax: number
}
