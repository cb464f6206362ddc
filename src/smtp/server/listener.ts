// An SMTP port: takes connections within its limits, looks at the time for all of them, and closes without cutting a
// message that is under way.

import { constants } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { SMTP_LIMITS, type SmtpDoor, type SmtpLimits } from './door.ts'
import { SmtpSession } from './session.ts'
import { InflowBudget } from '../../platform/fairness/inflow-budget.ts'
import { networkOf, siteOf, unmapped } from '../../platform/net/cidr.ts'
import { Tally } from '../../platform/fairness/tally.ts'

export class SmtpListener<Login, Recipient> {
  readonly #door: SmtpDoor<Login, Recipient>
  readonly #limits: SmtpLimits
  readonly #memory: InflowBudget
  readonly #secureContext: SecureContext
  readonly #server: Server
  readonly #sessions = new Set<SmtpSession<Login, Recipient>>()
  /** Of those, the ones that could log in and have not; the oldest first. */
  readonly #strangers = new Set<SmtpSession<Login, Recipient>>()
  /** Dismissed to make room, and not gone yet: their clients may take their time to read the reply. */
  readonly #leaving = new Set<SmtpSession<Login, Recipient>>()
  readonly #perAddress = new Tally()
  readonly #perAccount = new Tally()
  readonly #perTenant = new Tally()
  /** Of sessions that have logged in. */
  readonly #accounts = new Map<SmtpSession<Login, Recipient>, { account: string; tenant: string | undefined }>()
  #sweeper: NodeJS.Timeout | null = null
  #whenEmpty: (() => void) | null = null

  constructor(door: SmtpDoor<Login, Recipient>, limits: Partial<SmtpLimits> = {}) {
    this.#door = door
    this.#limits = { ...SMTP_LIMITS, ...limits }
    this.#memory = new InflowBudget(this.#limits.memoryBytesMax, this.#limits)
    this.#secureContext = createSecureContext({
      ...door.tls,
      minVersion: 'TLSv1.2',
      // One handshake per connection: in another one, certificates and keys change under a conversation that goes on.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    })
    // A client that has said its last word still gets our replies.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, socket => this.#accept(socket))
  }

  get connections(): number {
    return this.#sessions.size
  }

  /** Of each network that has any. */
  connectionsByNetwork(): IterableIterator<[network: string, count: number]> {
    return this.#perAddress.entries()
  }

  /** Answers with the port, which matters where any free one was asked for. */
  async listen({ port, host }: { port: number; host: string }): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ port, host }, () => {
        this.#server.off('error', reject)
        resolve()
      })
    })
    // Such as no more file descriptors: the connection is lost, the port stays.
    this.#server.on('error', error => this.#door.onFault(error, { id: '', ip: '', helo: '', isSecure: false }))
    this.#sweeper = setInterval(() => this.#sweep(), this.#limits.sweepMs)
    const address = this.#server.address()
    return address !== null && typeof address === 'object' ? address.port : port
  }

  /** No new connections; idle clients are told at once, others when their message has ended, for a bounded time. */
  async close(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    const empty = new Promise<void>(resolve => (this.#whenEmpty = resolve))
    for (const session of this.#all()) session.drain()
    const cut = setTimeout(() => {
      for (const session of this.#all()) session.destroy()
    }, this.#limits.closeMs)
    if (!this.#isEmpty) await empty
    clearTimeout(cut)
    if (this.#sweeper) clearInterval(this.#sweeper)
    await closed
  }

  #accept(socket: Socket): void {
    socket.on('error', () => socket.destroy())
    const ip = unmapped(socket.remoteAddress ?? '')
    const network = networkOf(ip)
    const connections = this.#perAddress.of(network) + (this.#door.elsewhere?.(network) ?? 0)
    if (connections >= this.#limits.connectionsPerAddressMax || this.#whenEmpty || !this.#admits()) {
      socket.end(`${TOO_MANY}\r\n`, () => socket.destroy())
      return
    }
    const { authenticate } = this.#door
    const door: SmtpDoor<Login, Recipient> = authenticate
      ? {
          ...this.#door,
          authenticate: async (attempt, client) => {
            const result = await authenticate(attempt, client)
            return typeof result === 'string' ? result : (this.#welcome(session, result.login) ?? result)
          },
        }
      : this.#door
    const options = { socket, ip, owner: siteOf(ip), door, limits: this.#limits, memory: this.#memory }
    const session = new SmtpSession({ ...options, secureContext: this.#secureContext })
    this.#sessions.add(session)
    if (authenticate) this.#strangers.add(session)
    this.#perAddress.add(network)
    socket.once('close', () => this.#remove(session, network))
  }

  /**
   * When all connections are taken, the session that has gone longest without a message is closed: a client that only
   * keeps connections open, from however many addresses, keeps nobody out. Where clients log in, sessions that have stay;
   * connections without a login may take what is not reserved, and the oldest of them goes.
   */
  #admits(): boolean {
    const { connectionsMax, connectionsReserved } = this.#limits
    const strangersMax = this.#door.authenticate ? connectionsMax - connectionsReserved : Infinity
    if (this.#strangers.size < strangersMax && this.#sessions.size < connectionsMax) return true
    const [oldest] = this.#door.authenticate ? this.#strangers : [longestWithoutMessage(this.#sessions)]
    if (!oldest) return false
    // It counts no longer, or as many could be on their way out as may be open.
    this.#strangers.delete(oldest)
    this.#sessions.delete(oldest)
    this.#leaving.add(oldest)
    oldest.dismiss(TOO_MANY)
    return true
  }

  /** Null, or the reply where the account or its tenant has too many connections. */
  #welcome(session: SmtpSession<Login, Recipient>, login: Login): string | null {
    // Its connection ended while the login was looked up.
    if (!this.#sessions.has(session)) return TOO_MANY
    const account = this.#door.ownerOf?.(login)
    if (account !== undefined) {
      // A login before STARTTLS is forgotten, and may come again.
      this.#forgetAccount(session)
      const { connectionsPerAccountMax } = this.#limits
      if (this.#perAccount.of(account) >= connectionsPerAccountMax) return tooManyOf('account')
      const tenant = this.#door.tenantOf?.(login)
      if (tenant !== undefined) {
        if (this.#perTenant.of(tenant) >= Math.ceil(connectionsPerAccountMax / 2)) return tooManyOf('tenant')
        this.#perTenant.add(tenant)
      }
      this.#perAccount.add(account)
      this.#accounts.set(session, { account, tenant })
      session.whose = { owner: account, tenant: tenant ?? '' }
    }
    this.#strangers.delete(session)
    return null
  }

  #remove(session: SmtpSession<Login, Recipient>, network: string): void {
    this.#sessions.delete(session)
    this.#strangers.delete(session)
    this.#leaving.delete(session)
    this.#perAddress.add(network, -1)
    this.#forgetAccount(session)
    if (this.#isEmpty) this.#whenEmpty?.()
  }

  get #isEmpty(): boolean {
    return this.#sessions.size + this.#leaving.size === 0
  }

  #all(): SmtpSession<Login, Recipient>[] {
    return [...this.#sessions, ...this.#leaving]
  }

  #forgetAccount(session: SmtpSession<Login, Recipient>): void {
    const known = this.#accounts.get(session)
    if (known === undefined) return
    this.#accounts.delete(session)
    this.#perAccount.add(known.account, -1)
    if (known.tenant !== undefined) this.#perTenant.add(known.tenant, -1)
  }

  #sweep(): void {
    const now = performance.now()
    const { connectionsMax, slowWindowMs, slowWindowMsWhileShort } = this.#limits
    const isShort = this.#sessions.size > connectionsMax / 2
    for (const session of this.#all()) session.sweep(now, isShort ? slowWindowMsWhileShort : slowWindowMs)
    this.#memory.relieve()
  }
}

function longestWithoutMessage<Session extends { waitingSince: number | null }>(sessions: Iterable<Session>) {
  let longest: Session | null = null
  let since = Infinity
  for (const session of sessions) {
    const { waitingSince } = session
    if (waitingSince === null || waitingSince >= since) continue
    longest = session
    since = waitingSince
  }
  return longest
}

const tooManyOf = (whose: string): string => `421 4.7.0 Too many connections of this ${whose}; try again later`
const TOO_MANY = '421 4.7.0 Too many connections; try again later'
