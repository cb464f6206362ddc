// One request to an address chosen by a stranger: a push, or a text that is fetched. Every address its name resolves to is
// judged, and the peer that was really reached; no redirect is followed; the answer is read a little; one deadline holds for
// all of it.
import { isIP, type LookupFunction } from 'node:net'
import type { PeerCertificate } from 'node:tls'
import type { buildConnector as Connectors, Dispatcher } from 'undici'
import { mayConnect } from './address-guard.ts'
import type { CidrList } from './cidr.ts'
import type { Dns } from './dns.ts'
import { Agent, buildConnector } from './http-agent.ts'
import { locate, type Location } from './http-target.ts'

/** Connecting, headers and body together. */
const TIMEOUT_MS = 15_000
/** What lies beyond in an answer is not read: the connection is cut, and the status counts. */
const ANSWER_BYTES_MAX = 64 * 1024
/** A busy connection would never look its name up again; after this long it is replaced. */
const CONNECTION_MS_MAX = 300_000

export interface GuardedHttpOptions {
  dns: Dns
  /** Private networks that may be reached all the same. */
  allowed: CidrList
  timeoutMs?: number
  /** Authorities trusted instead of the usual ones. */
  trusted?: readonly string[]
  /** Asked of every certificate, where its names must be more than those of HTTPS. */
  checkServerIdentity?: (host: string, certificate: PeerCertificate) => Error | undefined
  /** False: each request has a connection of its own. */
  isKeptAlive?: boolean
}

export interface PushResult {
  /** Null when there was no answer. */
  responseStatus: number | null
  /** The answer came whole, whatever it said; not one that broke off or was still coming at the deadline. */
  isComplete: boolean
  /** Null when it was delivered. */
  error: string | null
  latencyMs: number
}

interface Request {
  method: 'GET' | 'POST'
  url: URL
  headers: Record<string, string>
  body: string | null
}

export class GuardedHttp {
  readonly #agent: Agent
  readonly #timeoutMs: number

  constructor({ timeoutMs = TIMEOUT_MS, isKeptAlive = true, ...options }: GuardedHttpOptions) {
    this.#timeoutMs = timeoutMs
    this.#agent = new Agent({
      connect: guardedConnector({ ...options, timeoutMs }),
      allowH2: false,
      // Webhooks with one host share its connections. How many there may be is decided per webhook, before we get here:
      // a limit here would let one that hangs keep the others waiting.
      connections: null,
      pipelining: isKeptAlive ? 1 : 0,
      clientTtl: CONNECTION_MS_MAX,
    })
  }

  /** Never rejects: whatever happens is a result. */
  push({ url, headers, body }: { url: URL; headers: Record<string, string>; body: string }): Promise<PushResult> {
    const { promise, resolve } = Promise.withResolvers<PushResult>()
    this.#send({ method: 'POST', url, headers, body }, new Exchange(this.#timeoutMs, resolve))
    return promise
  }

  /** The text that stands there, where it is answered with 200, as plain text, and is short. Rejects otherwise. */
  async fetchText(url: URL): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<PushResult>()
    const exchange = new Fetching(this.#timeoutMs, resolve)
    this.#send({ method: 'GET', url, headers: { accept: 'text/plain' }, body: null }, exchange)
    const { error, responseStatus } = await promise
    if (error !== null) throw new Error(error)
    if (responseStatus !== 200) throw new Error(`Answered ${responseStatus}.`)
    return exchange.text
  }

  #send({ method, url, headers, body }: Request, exchange: Exchange): void {
    const { origin, pathname, search } = url
    try {
      // One deadline, ours, holds for everything.
      const timeouts = { headersTimeout: 0, bodyTimeout: 0 }
      this.#agent.dispatch({ origin, path: pathname + search, method, headers, body, ...timeouts }, exchange)
    } catch (error) {
      exchange.settle(describe(error))
    }
  }

  /** Cuts what is under way. */
  close(): Promise<void> {
    return this.#agent.destroy()
  }
}

/** One request and what comes back. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #began = performance.now()
  readonly #resolve: (result: PushResult) => void
  readonly #timer: NodeJS.Timeout
  #controller: Dispatcher.DispatchController | null = null
  #status: number | null = null
  #bytes = 0
  #isComplete = false
  #isSettled = false

  constructor(timeoutMs: number, resolve: (result: PushResult) => void) {
    this.#resolve = resolve
    this.#timer = setTimeout(() => this.cut(`No complete answer within ${timeoutMs / 1000} seconds.`), timeoutMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isSettled) controller.abort(CUT)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    if (status === 101) return this.cut(SWITCHED)
    // 1xx comes before the answer.
    if (status >= 200) this.#status = status
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes <= ANSWER_BYTES_MAX) return
    this.#isComplete = true
    this.cut(this.#judgement())
  }

  onResponseEnd(): void {
    this.#isComplete = true
    this.settle(this.#judgement())
  }

  /** Also after a status: an answer that broke off may be no answer, and a second copy is better than a loss. */
  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.settle(describe(error))
  }

  settle(error: string | null): void {
    if (this.#isSettled) return
    this.#isSettled = true
    clearTimeout(this.#timer)
    const latencyMs = Math.round(performance.now() - this.#began)
    this.#resolve({ responseStatus: this.#status, isComplete: this.#isComplete, error, latencyMs })
  }

  protected cut(error: string | null): void {
    this.settle(error)
    this.#controller?.abort(CUT)
  }

  #judgement(): string | null {
    const status = this.#status!
    if (status >= 200 && status < 300) return null
    return status < 400 ? `Answered ${status}; redirects are not followed.` : `Answered ${status}.`
  }
}

/** One whose answer is wanted, and wanted whole. */
class Fetching extends Exchange {
  readonly #chunks: Buffer[] = []
  #length = 0

  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8')
  }

  override onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined> = {},
  ): void {
    super.onResponseStart(controller, status)
    const type = String(headers['content-type']).split(';')[0]!.trim().toLowerCase()
    if (status === 200 && type !== 'text/plain') this.cut('Answered with no plain text.')
  }

  override onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    if (this.#length > ANSWER_BYTES_MAX) this.cut('Answered with too much.')
    else super.onResponseData(controller, chunk)
  }
}

const CUT = new Error('the exchange is over')

class Unreachable extends Error {}

const SWITCHED = 'The endpoint switched protocols.'
const FORBIDDEN = 'The URL leads to a private or loopback address, which is not called.'

type Guard = Omit<GuardedHttpOptions, 'timeoutMs' | 'isKeptAlive'> & { timeoutMs: number }

/**
 * Judges before, because a literal address is never looked up; while looking up; and afterwards, who really is at the
 * other end.
 */
function guardedConnector({ dns, allowed, timeoutMs, trusted, checkServerIdentity }: Guard): Connectors.connector {
  const lookup: LookupFunction = (hostname, options, callback) => {
    const found = (location: Location): void => {
      if (location.kind !== 'found') return callback(new Unreachable(objectionTo(location)), [])
      const addresses = location.addresses.map(address => ({ address, family: isIP(address) }))
      if (options.all) callback(null, addresses)
      else callback(null, addresses[0]!.address, addresses[0]!.family)
    }
    // Never rejects: a look-up that fails is an answer.
    void locate(hostname, { dns, allowed }).then(found)
  }
  const dial = buildConnector({
    allowH2: false,
    timeout: timeoutMs,
    lookup,
    autoSelectFamily: true,
    ...(trusted && { ca: [...trusted] }),
    ...(checkServerIdentity && { checkServerIdentity }),
  })
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !mayConnect(host, allowed)) return callback(new Unreachable(FORBIDDEN), null)
    dial({ ...options, hostname: host }, (...[error, socket]) => {
      if (error) return callback(error, null)
      if (mayConnect(socket.remoteAddress ?? '', allowed)) return callback(null, socket)
      socket.destroy()
      callback(new Unreachable(FORBIDDEN), null)
    })
  }
}

function objectionTo(location: Exclude<Location, { kind: 'found' }>): string {
  switch (location.kind) {
    case 'forbidden':
      return FORBIDDEN
    case 'none':
      return 'The name of the host has no address.'
    case 'failed':
      return `The name of the host could not be looked up (${location.code}).`
  }
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: 'The connection was reset.',
  EPIPE: 'The connection was closed.',
  UND_ERR_SOCKET: 'The connection was closed before the answer was complete.',
  UND_ERR_CONNECT_TIMEOUT: 'The connection took too long.',
  ETIMEDOUT: 'The connection took too long.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The host cannot be reached: no route to its network.',
  UND_ERR_DESTROYED: 'The service that pushed was stopped before the answer came.',
  UND_ERR_HEADERS_OVERFLOW: 'The headers of the answer are too large.',
}

/** For the owner of the webhook: no addresses and no internals. */
function describe(error: unknown): string {
  if (error instanceof Unreachable) return error.message
  const { code = '', name, message } = error as NodeJS.ErrnoException
  // 101 with all its headers, which the library takes for a broken connection.
  if (message === 'bad upgrade') return SWITCHED
  if (REASONS[code]) return REASONS[code]
  if (code.startsWith('HPE_') || name === 'HTTPParserError') return 'The answer is no HTTP.'
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)) return `The TLS connection failed (${code}).`
  // Of the system's codes its owner can make something; the others (ERR_ASSERTION) are about our own parts.
  return /^E[A-Z0-9]+$/.test(code) ? `The push failed (${code}).` : 'The push failed.'
}
