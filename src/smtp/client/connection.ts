// One SMTP connection: bytes out, replies in, in order, each within its time. It knows what is owed to it, so a server
// that talks out of turn is found out; it has one timer, and every way in which it can end leads through one function.
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { NO_EXTENSIONS, type Extensions } from './extensions.ts'
import { Failure, type Phase } from './outcome.ts'
import { ReplyReader, type RawReply } from './reply-reader.ts'

interface Waiting {
  phase: Phase
  event: 'reply' | 'connect' | 'secureConnect' | 'drain'
  resolve: (reply: RawReply) => void
  reject: (failure: Failure) => void
}

/** Replies are short; a longer one takes several reads. Reading into a buffer of our own saves a sixth of the work. */
const READ_BYTES = 4_096
/** What `resolve` is given for events that are no replies. */
const NO_REPLY: RawReply = { code: 0, text: '' }

export class Connection {
  readonly host: string
  /** Settles when the socket is gone for good. */
  readonly closed: Promise<void>
  extensions: Extensions = NO_EXTENSIONS
  isTls = false
  /** The demand on TLS that this connection was opened under (`TlsPolicy.key`). */
  policyKey = ''
  /** Transactions begun. */
  uses = 0
  /** It was open before the message at hand asked for it, and the server may have closed it in the meantime. */
  isKept = false
  /** A transaction was left open: RSET before the next. */
  needsReset = false
  /** The server has the whole message, and has not said what became of it: cut now, it may be sent twice. */
  awaitsVerdict = false
  readonly #reader = new ReplyReader(reply => this.#receive(reply))
  readonly #replies: RawReply[] = []
  #socket: Socket
  /** Replies that the server still owes; the first is its greeting. */
  #owed = 1
  #waiting: Waiting | null = null
  /** Why the connection is no longer usable. */
  #end: { reason: string; isClosed: boolean } | null = null
  #state: 'busy' | 'idle' | 'quitting' = 'busy'
  #timer: NodeJS.Timeout | null = null
  #timerAt = 0
  #deadline = Infinity
  #markClosed!: () => void
  #quitMs = 0

  /** Begins to connect; `connected` waits for it. */
  constructor({ host, address, port }: { host: string; address: string; port: number }) {
    this.host = host
    this.closed = new Promise(resolve => (this.#markClosed = resolve))
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
    const callback = (length: number): boolean => {
      this.#take(buffer.subarray(0, length))
      return true
    }
    const onread = { buffer, callback }
    this.#socket = this.#attach(connect({ host: address, port, noDelay: true, autoSelectFamily: false, onread }))
  }

  get isUsable(): boolean {
    return this.#end === null && this.#state !== 'quitting'
  }

  get remoteAddress(): string {
    return this.#socket.remoteAddress ?? ''
  }

  /** Something was answered that nobody has read yet. */
  get hasReply(): boolean {
    return this.#replies.length > 0
  }

  /** The next reply if it is here already, so that replies which came together cost one wait. */
  take(): RawReply | null {
    return this.#replies.shift() ?? null
  }

  async connected(ms: number): Promise<void> {
    await this.#wait('connect', 'connect', ms)
  }

  /** Sends commands, or content, to which the server will owe that many replies. */
  write(data: string | Buffer, replies: number): void {
    this.#state = 'busy'
    this.#owed += replies
    if (this.#end === null) this.#socket.write(data)
  }

  /** The next reply, in the order of what was asked. Rejects with a `Failure` only. */
  read(phase: Phase, ms: number): Promise<RawReply> {
    const reply = this.take()
    return reply ? Promise.resolve(reply) : this.#wait(phase, 'reply', ms)
  }

  /** After a write of a part: waits until the socket wants more, if it has had enough. */
  async drained(phase: Phase, ms: number): Promise<void> {
    if (this.#end !== null || this.#socket.writableNeedDrain) await this.#wait(phase, 'drain', ms)
  }

  /** The server has agreed to STARTTLS: from here on everything is encrypted, or the connection ends. */
  async secure(options: ConnectionOptions, ms: number): Promise<TLSSocket> {
    // What stands in the buffer came in clear text, perhaps from someone in between; read after the handshake it would
    // pass for the server's word (CVE-2011-0411 and its kin).
    if (this.#reader.isInside || this.#replies.length > 0) this.#fail('spoke in clear text after agreeing to TLS')
    const wait = this.#wait('tls', 'secureConnect', ms)
    if (this.#end === null) this.#wrap(options)
    await wait
    this.isTls = true
    return this.#socket as TLSSocket
  }

  /** Waits for its next use; after that long without one it says goodbye. */
  markIdle(ms: number, quitMs: number): void {
    if (!this.isUsable) return
    this.#state = 'idle'
    this.#quitMs = quitMs
    this.#arm(ms)
  }

  /** No longer idle: however long it takes until something is said, it does not say goodbye. */
  markBusy(): void {
    this.#state = 'busy'
  }

  /** Says goodbye (RFC 5321 §4.1.1.10) and closes when the server has answered, or does not. */
  quit(ms: number): void {
    if (!this.isUsable) return
    this.write('QUIT\r\n', 1)
    this.#state = 'quitting'
    this.#arm(ms)
  }

  destroy(reason: string): void {
    this.#fail(reason)
  }

  #wrap(options: ConnectionOptions): void {
    try {
      const secure = connectTls({ ...options, socket: this.#socket })
      this.#socket = this.#attach(secure)
      secure.on('data', (chunk: Buffer) => this.#take(chunk))
      secure.on('secureConnect', () => this.#wake('secureConnect'))
    } catch (error) {
      // The name of the host comes from someone else's DNS, and the library may not like it.
      this.#fail(describe(error as Error))
    }
  }

  #attach<S extends Socket>(socket: S): S {
    // The plain socket below an encrypted one keeps its listeners, so that nothing of it goes unheard, but only the one
    // on top decides.
    const onEnd = (reason: string, isClosed: boolean): void => {
      if (this.#socket === socket) this.#fail(reason, isClosed)
    }
    socket.on('connect', () => this.#wake('connect'))
    socket.on('drain', () => this.#wake('drain'))
    socket.on('end', () => onEnd('closed the connection', true))
    socket.on('error', (error: NodeJS.ErrnoException) => onEnd(describe(error), CLOSING_ERRORS.has(error.code ?? '')))
    socket.on('close', () => {
      onEnd('closed the connection', true)
      if (this.#socket === socket) this.#markClosed()
    })
    return socket
  }

  #take(chunk: Buffer): void {
    if (this.#end !== null) return
    const objection = this.#reader.push(chunk)
    if (objection) this.#fail(`answered with ${objection}`)
  }

  #receive(reply: RawReply): void {
    if (this.#end !== null) return
    if (this.#state === 'quitting') return this.#fail('said goodbye', true)
    // A 421 may come at any time (RFC 5321 §3.8): the server is about to close. It counts as a close when nothing is
    // owed.
    const isClosing = reply.code === 421
    if (this.#owed === 0) return this.#fail(isClosing ? 'closed the connection' : 'spoke out of turn', isClosing)
    this.#owed -= 1
    if (this.#waiting?.event === 'reply') return this.#settle().resolve(reply)
    this.#replies.push(reply)
    // A server that answers in the middle of the content may not read the rest of it: do not wait for that.
    this.#wake('drain')
  }

  #wait(phase: Phase, event: Waiting['event'], ms: number): Promise<RawReply> {
    if (this.#end) return Promise.reject(new Failure({ phase, ...this.#end }))
    this.#arm(ms)
    return new Promise((resolve, reject) => {
      this.#waiting = { phase, event, resolve, reject }
    })
  }

  #wake(event: Waiting['event']): void {
    if (this.#waiting?.event === event) this.#settle().resolve(NO_REPLY)
  }

  #settle(): Waiting {
    const waiting = this.#waiting!
    this.#waiting = null
    return waiting
  }

  /** The one end of every connection. */
  #fail(reason: string, isClosed = false): void {
    if (this.#end !== null) return
    this.#end = { reason, isClosed }
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#socket.destroy()
    if (this.#waiting) {
      const { phase, reject } = this.#settle()
      reject(new Failure({ phase, reason, isClosed }))
    }
  }

  /**
   * One timer for the whole life of a connection: it is set anew only for an earlier deadline than the one it stands
   * at. A later deadline is looked at when the timer fires, so a busy connection touches it about once a minute.
   */
  #arm(ms: number): void {
    const now = performance.now()
    this.#deadline = now + ms
    if (this.#timer !== null && this.#timerAt <= this.#deadline) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timerAt = this.#deadline
    this.#timer = setTimeout(() => this.#tick(), ms)
  }

  #tick(): void {
    this.#timer = null
    const left = this.#deadline - performance.now()
    if (left > 0) {
      this.#timerAt = this.#deadline
      this.#timer = setTimeout(() => this.#tick(), Math.ceil(left))
    } else if (this.#state === 'idle') {
      this.quit(this.#quitMs)
    } else if (this.#state === 'quitting' || this.#waiting) {
      this.#fail('did not answer in time')
    }
  }
}

const CLOSING_ERRORS = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED'])

const ERROR_REASONS: Record<string, string> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'reset the connection',
  EPIPE: 'closed the connection',
  ETIMEDOUT: 'did not answer in time',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached: no route to its network',
}

function describe({ code, message, ...details }: NodeJS.ErrnoException & { reason?: unknown }): string {
  const known = ERROR_REASONS[code ?? '']
  if (known) return known
  // OpenSSL's own messages hold addresses in memory and file names; its reason is the readable part.
  return typeof details.reason === 'string' ? `failed in TLS: ${details.reason}` : message
}
