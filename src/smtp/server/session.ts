// One connection of an SMTP client: bytes in, lines and messages out of them, replies back, TLS, and the time each may
// take. Lines end with CRLF and nothing else; what a client says while we are busy waits.

import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket, type SecureContext } from 'node:tls'
import { LONG_LINE_BYTES_MAX, SmtpConversation, type Answer } from './conversation.ts'
import { DataReader } from './data.ts'
import { DataRate } from '../../platform/fairness/data-rate.ts'
import { readableLine } from './line.ts'
import type { SmtpClient, SmtpDoor, SmtpLimits } from './door.ts'
import type { Inflow, InflowBudget } from '../../platform/fairness/inflow-budget.ts'

interface SessionOptions<Login, Recipient> {
  socket: Socket
  ip: string
  door: SmtpDoor<Login, Recipient>
  limits: SmtpLimits
  memory: InflowBudget
  /** Whose share of the memory it takes until it has logged in. */
  owner: string
  secureContext: SecureContext
}

const LF = 10
const NOTHING = Buffer.alloc(0)
/** What may wait unread while we are busy, and unsent while the client does not listen. */
const WAITING_BYTES_MAX = 65_536
/** In one turn of the event loop a socket reads two megabytes, if it is not stopped. */
const READ_IN_ROW_MAX = 128 * 1024
/** Most messages are smaller and need not ask whether there is memory for them. */
const FREE_BYTES = 65_536

export class SmtpSession<Login, Recipient> {
  readonly #options: SessionOptions<Login, Recipient>
  readonly #client: SmtpClient
  readonly #conversation: SmtpConversation<Login, Recipient>
  /** Whose share of the memory the session takes. */
  whose: { owner: string; tenant: string }
  #socket: Socket
  #readInRow = 0
  #input: Buffer = NOTHING
  #output = ''
  #data: DataReader | null = null
  #inflow: Inflow | null = null
  #phase: 'command' | 'data' | 'starved' | 'busy' | 'handshake' | 'farewell' = 'command'
  /** Our replies pile up because the client does not read them. */
  #isDeaf = false
  #hasEnded = false
  #isDraining = false
  /** When the phase began, on the monotonic clock. */
  #since = performance.now()
  #starvedSince = 0
  readonly #rate: DataRate

  constructor(options: SessionOptions<Login, Recipient>) {
    const { socket, ip, door } = options
    this.#options = options
    this.#rate = new DataRate(options.limits)
    this.whose = { owner: options.owner, tenant: '' }
    this.#client = { id: randomUUID(), ip, helo: '', isSecure: false }
    this.#conversation = new SmtpConversation(door, this.#client)
    this.#socket = socket
    this.#attach(socket)
    this.#say(this.#conversation.greeting())
    this.#flush()
  }

  /** Since when the client keeps us waiting for a message; null while one is coming or being taken. */
  get waitingSince(): number | null {
    if (this.#phase === 'data' || this.#phase === 'starved' || this.#phase === 'busy') return null
    return this.#conversation.owesMessageSince
  }

  /** Cuts what takes too long; a message that was too slow over the whole window, too. */
  sweep(now: number, slowWindowMs: number): void {
    const elapsed = now - this.#since
    const { limits } = this.#options
    switch (this.#phase) {
      case 'command':
        if (elapsed > limits.commandMs) this.#leave('421 4.4.2 Nothing was said for too long')
        return
      case 'data':
        if (elapsed <= limits.dataMs && !this.#rate.isTooSlow(now, slowWindowMs)) return
        return this.#leave('421 4.4.2 The message came too slowly')
      case 'handshake':
      case 'farewell':
        if (elapsed > limits[`${this.#phase}Ms`]) this.#socket.destroy()
        return
      default: // It is we who are taking time.
    }
  }

  /** Says farewell as soon as no message is under way. */
  drain(): void {
    this.#isDraining = true
    if (this.#phase === 'handshake') this.#socket.destroy()
    else if (this.#phase === 'farewell') this.#socket.destroySoon()
    else this.#leaveWhenIdle()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Ends the session with this reply, whatever the client is at. */
  dismiss(reply: string): void {
    if (this.#phase === 'handshake') return void this.#socket.destroy()
    if (this.#phase !== 'farewell') this.#leave(reply)
    this.#socket.destroySoon()
  }

  #attach(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('end', () => {
      this.#hasEnded = true
      // Nobody is left to shake hands with.
      if (this.#phase === 'handshake') socket.destroy()
      else this.#work()
    })
    socket.on('drain', () => {
      this.#isDeaf = false
      this.#work()
    })
    // A connection that breaks is no news: `close` follows.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      // A message that is being taken keeps its memory, whether or not somebody still waits for the reply.
      if (this.#phase !== 'busy') this.#freeMemory()
    })
  }

  #read(chunk: Buffer): void {
    if (this.#phase === 'farewell') return
    this.#input = this.#input.length === 0 ? chunk : Buffer.concat([this.#input, chunk])
    if (this.#isReady) this.#work()
    else if (this.#input.length > WAITING_BYTES_MAX) this.#socket.pause()
    this.#readInRow += chunk.length
    if (this.#readInRow <= READ_IN_ROW_MAX) return
    this.#readInRow = 0
    this.#socket.pause()
    setImmediate(() => this.#work())
  }

  get #isReady(): boolean {
    return (this.#phase === 'command' || this.#phase === 'data' || this.#phase === 'starved') && !this.#isDeaf
  }

  #work(): void {
    while (this.#isReady && this.#input.length > 0) {
      if (this.#data) this.#readData(this.#data)
      else if (!this.#readLine()) break
      if (this.#output.length > WAITING_BYTES_MAX / 4) this.#flush()
    }
    this.#flush()
    if (this.#hasEnded && this.#isReady) this.#endSoon()
    else if (this.#isReady && this.#phase !== 'starved') this.#socket.resume()
  }

  #readLine(): boolean {
    const input = this.#input
    const feed = input.indexOf(LF)
    if (feed > LONG_LINE_BYTES_MAX || (feed === -1 && input.length > LONG_LINE_BYTES_MAX)) {
      this.#leave('500 5.5.2 The line is too long')
      return false
    }
    if (feed === -1) return false
    const line = readableLine(input, feed)
    if (line === 'smuggled') {
      // Commands behind it may be somebody else's words, put where only one command was to be.
      this.#leave('550 5.6.0 Lines end with CRLF, and contain no bare CR, bare LF or NUL')
      return false
    }
    this.#input = input.length === feed + 1 ? NOTHING : input.subarray(feed + 1)
    this.#since = performance.now()
    const answer = this.#conversation.hear(line?.text ?? null, feed + 1)
    if (answer instanceof Promise) void this.#await(answer)
    else this.#take(answer)
    return true
  }

  #take({ reply, next }: Answer): void {
    if (next === 'close') return this.#leave(reply)
    this.#say(reply)
    if (next === 'data') {
      this.#phase = 'data'
      this.#data = new DataReader(this.#options.door.sizeMax)
      this.#rate.begin(this.#since)
    } else if (next === 'starttls') this.#startTls()
    else this.#leaveWhenIdle()
  }

  /** It never fails: the conversation makes replies of errors. */
  async #await(answer: Promise<Answer>): Promise<void> {
    this.#phase = 'busy'
    this.#flush()
    const done = await answer
    this.#freeMemory()
    // Dismissed meanwhile, or the client is gone.
    if (!this.#socket.writable) return
    this.#phase = 'command'
    this.#since = performance.now()
    this.#take(done)
    this.#work()
  }

  #readData(data: DataReader): void {
    const end = data.push(this.#input)
    this.#rate.add(end === -1 ? this.#input.length : end)
    this.#input = end === -1 ? NOTHING : this.#input.subarray(end)
    if (end !== -1) {
      this.#data = null
      this.#inflow?.finish()
      void this.#await(this.#conversation.deliver(data.outcome()))
    } else if (data.bytes > 2 * this.#options.door.sizeMax) {
      this.#leave('552 5.3.4 The message is far too large')
    } else if (data.isRefused) {
      this.#freeMemory()
      this.#readOn()
    } else if (data.capacity > FREE_BYTES) this.#askForMemory(data.capacity)
  }

  #askForMemory(bytes: number): void {
    const drop = (): void => this.#leave('421 4.3.1 Memory is short; try again later')
    this.#inflow ??= this.#options.memory.open(this.whose, { resume: () => this.#readOn(), drop })
    if (this.#inflow.grow(bytes - this.#inflow.bytes)) return this.#readOn()
    if (this.#phase === 'starved') return
    this.#phase = 'starved'
    this.#starvedSince = performance.now()
    this.#socket.pause()
  }

  /** The time that the client waited for us is not counted against it. */
  #readOn(): void {
    if (this.#phase !== 'starved') return
    const now = performance.now()
    this.#since += now - this.#starvedSince
    this.#rate.begin(now)
    this.#phase = 'data'
    this.#socket.resume()
  }

  #startTls(): void {
    // What came in the clear behind STARTTLS may have been put there by somebody else (RFC 3207 §6; CVE-2011-0411).
    this.#input = NOTHING
    this.#phase = 'handshake'
    this.#flush()
    const plain = this.#socket.removeAllListeners('data').removeAllListeners('end').removeAllListeners('drain')
    const secure = new TLSSocket(plain, { isServer: true, secureContext: this.#options.secureContext })
    this.#socket = secure
    secure.on('_tlsError', () => secure.destroy())
    // Once: it would come again with every handshake, and a message under way would be read as commands.
    secure.once('secure', () => {
      this.#client.isSecure = true
      this.#conversation.forget()
      this.#phase = 'command'
      this.#since = performance.now()
      this.#work()
      this.#leaveWhenIdle()
    })
    this.#attach(secure)
  }

  #say(reply: string): void {
    this.#output += `${reply}\r\n`
  }

  #flush(): void {
    if (this.#output !== '' && this.#socket.writable && !this.#socket.write(this.#output, 'latin1')) this.#isDeaf = true
    this.#output = ''
  }

  #leaveWhenIdle(): void {
    if (!this.#isDraining || this.#phase !== 'command' || !this.#conversation.isIdle) return
    this.#leave('421 4.3.2 The server is closing')
  }

  #leave(reply: string): void {
    this.#say(reply)
    this.#endSoon()
    if (this.#isDraining) this.#socket.destroySoon()
  }

  /** Whatever still comes is read and dropped: closing on unread bytes would take our last reply away as well. */
  #endSoon(): void {
    this.#flush()
    this.#phase = 'farewell'
    this.#since = performance.now()
    this.#input = NOTHING
    this.#data = null
    this.#freeMemory()
    this.#socket.end()
    this.#socket.resume()
  }

  #freeMemory(): void {
    this.#inflow?.release()
    this.#inflow = null
  }
}
