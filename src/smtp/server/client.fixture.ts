// An SMTP client for tests that says exactly what it is told to, byte for byte, and waits for each reply.

import { connect, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { TestContext } from 'node:test'

const REPLY_MS_MAX = 30_000

export class TestClient {
  #socket: Socket
  #received = ''
  #isClosed = false
  #waiting: (() => void)[] = []

  constructor(socket: Socket) {
    this.#socket = socket
    this.#listen(socket)
  }

  /** Connected, and cut off when the test ends. */
  static async open(t: TestContext, port: number, localAddress = '127.0.0.1'): Promise<TestClient> {
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
    t.after(() => socket.destroy())
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    return new TestClient(socket)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  #listen(socket: Socket): void {
    const wake = (): void => this.#waiting.splice(0).forEach(each => each())
    socket.on('data', (chunk: Buffer) => {
      this.#received += chunk.toString('latin1')
      wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#isClosed = true
      wake()
    })
  }

  write(bytes: string | Buffer): void {
    this.#socket.write(bytes)
  }

  /** Writes the bytes so that the server, in this same process, reads them before any later ones. */
  async writeAlone(bytes: string | Buffer): Promise<void> {
    await new Promise(resolve => this.#socket.write(bytes, resolve))
    for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve))
  }

  /** Sends the line and answers with the whole reply. */
  say(line: string): Promise<string> {
    this.write(`${line}\r\n`)
    return this.reply()
  }

  /** The next reply, all its lines. Fails loudly when none comes. */
  async reply(): Promise<string> {
    const whole = await this.#until('a reply', () => /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(this.#received)?.[0])
    this.#received = this.#received.slice(whole.length)
    return whole.trimEnd()
  }

  async replies(count: number): Promise<string[]> {
    const replies: string[] = []
    for (let n = 0; n < count; n++) replies.push(await this.reply())
    return replies
  }

  /** What came since the last reply was read. */
  get unread(): string {
    return this.#received
  }

  async closed(): Promise<void> {
    await this.#until('the end of the connection', () => this.#isClosed)
  }

  async #until<T>(what: string, condition: () => T | null | undefined | false): Promise<T> {
    const deadline = performance.now() + REPLY_MS_MAX
    for (;;) {
      const result = condition()
      if (result) return result
      const isLate = performance.now() > deadline
      if (isLate || this.#isClosed) {
        throw new Error(`waited for ${what}, ${isLate ? 'it is late' : 'the connection ended'}: "${this.#received}"`)
      }
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, REPLY_MS_MAX)
        this.#waiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }

  /** The handshake after the server has agreed to it. */
  async secure({ maxVersion }: { maxVersion?: 'TLSv1.2' } = {}): Promise<void> {
    const plain = this.#socket
    plain.removeAllListeners('data')
    const secured = connectTls({ socket: plain, rejectUnauthorized: false, ...(maxVersion && { maxVersion }) })
    await new Promise<void>((resolve, reject) => secured.once('secureConnect', resolve).once('error', reject))
    this.#socket = secured
    this.#listen(secured)
  }

  /** Asks for another handshake within the connection, as TLS up to 1.2 knows it; answers what came of it. */
  renegotiate(): Promise<'done' | 'refused'> {
    const socket = this.#socket as TLSSocket
    return new Promise(resolve => {
      socket.once('error', () => resolve('refused')).once('close', () => resolve('refused'))
      socket.renegotiate({ rejectUnauthorized: false }, error => resolve(error ? 'refused' : 'done'))
    })
  }

  /** Greeting, EHLO and, where given, a login. */
  async hello(login?: { username: string; password: string }): Promise<string> {
    await this.reply()
    const offer = await this.say('EHLO client.example')
    if (login) await this.login(login)
    return offer
  }

  login({ username, password }: { username: string; password: string }): Promise<string> {
    return this.say(`AUTH PLAIN ${Buffer.from(`\0${username}\0${password}`).toString('base64')}`)
  }

  /** A whole transaction; the reply to the message. */
  async send(message: string | Buffer, { from = 'me@acme.example', to = ['you@example.com'] } = {}): Promise<string> {
    await this.say(`MAIL FROM:<${from}>`)
    for (const recipient of to) await this.say(`RCPT TO:<${recipient}>`)
    await this.say('DATA')
    this.write(message)
    return this.say('.')
  }

  /** Reads nothing more, so that the server's replies pile up. */
  deafen(): void {
    this.#socket.pause()
  }

  end(): void {
    this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }
}
