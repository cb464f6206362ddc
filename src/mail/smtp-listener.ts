// An SMTP port: takes connections within its limits, looks at the time for all of them, and closes without cutting a
// message that is under way.

import { constants } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { SMTP_LIMITS, type SmtpDoor, type SmtpLimits } from './smtp-door.ts'
import { SmtpMemory } from './smtp-memory.ts'
import { SmtpSession } from './smtp-session.ts'

export class SmtpListener<Login, Recipient> {
  readonly #door: SmtpDoor<Login, Recipient>
  readonly #limits: SmtpLimits
  readonly #memory: SmtpMemory
  readonly #secureContext: SecureContext
  readonly #server: Server
  readonly #sessions = new Set<SmtpSession<Login, Recipient>>()
  readonly #perAddress = new Map<string, number>()
  #sweeper: NodeJS.Timeout | null = null
  #whenEmpty: (() => void) | null = null

  constructor(door: SmtpDoor<Login, Recipient>, limits: Partial<SmtpLimits> = {}) {
    this.#door = door
    this.#limits = { ...SMTP_LIMITS, ...limits }
    this.#memory = new SmtpMemory(this.#limits.memoryBytesMax)
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
    for (const session of this.#sessions) session.drain()
    const cut = setTimeout(() => {
      for (const session of this.#sessions) session.destroy()
    }, this.#limits.closeMs)
    if (this.#sessions.size > 0) await empty
    clearTimeout(cut)
    if (this.#sweeper) clearInterval(this.#sweeper)
    await closed
  }

  #accept(socket: Socket): void {
    socket.on('error', () => socket.destroy())
    const ip = plainAddress(socket.remoteAddress ?? '')
    const network = networkOf(ip)
    const fromThere = this.#perAddress.get(network) ?? 0
    const { connectionsMax, connectionsPerAddressMax } = this.#limits
    if (this.#sessions.size >= connectionsMax || fromThere >= connectionsPerAddressMax || this.#whenEmpty) {
      socket.end('421 4.7.0 Too many connections; try again later\r\n', () => socket.destroy())
      return
    }
    const options = { socket, ip, door: this.#door, limits: this.#limits, memory: this.#memory }
    const session = new SmtpSession({ ...options, secureContext: this.#secureContext })
    this.#sessions.add(session)
    this.#perAddress.set(network, fromThere + 1)
    socket.once('close', () => this.#remove(session, network))
  }

  #remove(session: SmtpSession<Login, Recipient>, network: string): void {
    this.#sessions.delete(session)
    const left = (this.#perAddress.get(network) ?? 1) - 1
    if (left > 0) this.#perAddress.set(network, left)
    else this.#perAddress.delete(network)
    if (this.#sessions.size === 0) this.#whenEmpty?.()
  }

  #sweep(): void {
    const now = performance.now()
    for (const session of this.#sessions) session.sweep(now)
  }
}

/** A dual-stack socket reports IPv4 peers as ::ffff:1.2.3.4. */
const plainAddress = (ip: string): string => ip.replace(/^::ffff:(?=\d+\.)/i, '')

/** What counts as one address: in IPv6 a customer has a whole /64 to draw from. */
export function networkOf(ip: string): string {
  if (!ip.includes(':')) return ip
  const [head = '', tail] = ip.split('%')[0]!.split('::')
  const groups = head === '' ? [] : head.split(':')
  const rest = tail ? tail.split(':') : []
  if (tail !== undefined) groups.push(...Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill('0'))
  return [...groups, ...rest].slice(0, 4).join(':')
}
