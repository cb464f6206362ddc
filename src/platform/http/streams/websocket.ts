// WebSocket: the handshake, checked like any request before anything is upgraded, and the channel over it.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import { refuse } from '../../refusal.ts'
import { END_MS_MAX, firstOf, type StreamChannel, type StreamEnd } from './channel.ts'
import type { FrameBatch } from './frames.ts'

/** Browsers cannot set headers on a WebSocket: the key comes as a subprotocol of this form. */
const KEY_PROTOCOL = /^svc\.(\S+)$/
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const HANDSHAKE_KEY = /^[+/0-9A-Za-z]{22}==$/
/** Nothing is expected from a client but pongs. One that sends more than this between two pings is cut. */
const HEARD_BYTES_MAX = 64 * 1024
const MESSAGE_BYTES_MAX = 4 * 1024

const CLOSING: Record<StreamEnd, [number, string]> = {
  stopping: [1001, 'The server is stopping: connect again.'],
  forbidden: [1008, 'The API key was revoked, rotated or has expired.'],
  gone: [1008, 'The inbox was deleted.'],
  failed: [1011, 'Something went wrong on our side: connect again.'],
}

/** Whether Node takes the connection from HTTP. Upgrades to something else are passed over: HTTP goes on. */
export const isWebSocketRequest = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'

/**
 * Throws the refusal of a handshake that cannot be completed. Node gives a connection away only where `Connection` says
 * upgrade as well.
 */
export function checkHandshake(request: IncomingMessage, isGivenAway: boolean): void {
  const { headers } = request
  if (!isWebSocketRequest(request) || !isGivenAway) {
    throw refuse('invalid_request', 'This endpoint speaks WebSocket: connect with a WebSocket client.')
  }
  if (headers['sec-websocket-version'] !== '13' || !HANDSHAKE_KEY.test(headers['sec-websocket-key'] ?? '')) {
    throw refuse('invalid_request', 'The WebSocket handshake needs Sec-WebSocket-Version: 13 and a Sec-WebSocket-Key.')
  }
  const offered = protocolsOf(headers['sec-websocket-protocol'])
  if (offered.some(protocol => !TOKEN.test(protocol)) || new Set(offered).size < offered.length) {
    throw refuse('invalid_request', 'Sec-WebSocket-Protocol must be a list of different names.')
  }
}

/** The Authorization header, or in its place the key that was offered as a subprotocol. */
export function authorizationOf(request: IncomingMessage): string | undefined {
  const { headers } = request
  if (headers.authorization !== undefined || !isWebSocketRequest(request)) return headers.authorization
  const protocol = protocolsOf(headers['sec-websocket-protocol']).find(each => KEY_PROTOCOL.test(each))
  return protocol && `Bearer ${KEY_PROTOCOL.exec(protocol)![1]!}`
}

const protocolsOf = (header: string | undefined): string[] =>
  header === undefined ? [] : header.split(',').map(name => name.trim())

export class WebSocketUpgrades {
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // Buffers and a deflate context per connection cost more memory than the frames are long.
    perMessageDeflate: false,
    maxPayload: MESSAGE_BYTES_MAX,
    // A browser gives up on a server that takes none of the protocols it offered.
    handleProtocols: protocols => [...protocols].find(protocol => KEY_PROTOCOL.test(protocol)) ?? false,
  })

  /** The handshake was checked and allowed. Null when the peer has gone meanwhile. */
  complete(request: IncomingMessage, socket: Duplex, head: Buffer, headers: readonly string[]): StreamChannel | null {
    let channel: StreamChannel | null = null
    const addHeaders = (lines: string[]): void => {
      for (const header of headers) lines.push(header)
    }
    this.#server.once('headers', addHeaders)
    // Calls back at once, or never.
    this.#server.handleUpgrade(request, socket, head, client => (channel = new WebSocketChannel(client, socket)))
    this.#server.off('headers', addHeaders)
    return channel
  }
}

class WebSocketChannel implements StreamChannel {
  readonly #client: WebSocket
  readonly #socket: Duplex & { bytesRead?: number }
  #isAnswered = true
  #heardBytes = 0

  constructor(client: WebSocket, socket: Duplex) {
    this.#client = client
    this.#socket = socket
    client.on('error', () => {})
    client.on('pong', () => (this.#isAnswered = true))
    for (const kind of ['message', 'ping', 'pong']) client.on(kind, () => this.#cutIfLoud())
  }

  send({ texts }: FrameBatch): void {
    if (this.isClosed) return
    // One write for all of them.
    this.#socket.cork()
    for (const text of texts) this.#client.send(text, { binary: false })
    this.#socket.uncork()
  }

  ping(): void {
    if (this.isClosed) return
    if (!this.#isAnswered) return this.cut()
    this.#isAnswered = false
    this.#heardBytes = this.#socket.bytesRead ?? 0
    this.#client.ping()
  }

  /** A ping of the client is answered, so that it can make us write. */
  #cutIfLoud(): void {
    if ((this.#socket.bytesRead ?? 0) - this.#heardBytes > HEARD_BYTES_MAX) this.cut()
  }

  get backlogBytes(): number {
    return this.#client.bufferedAmount
  }

  drained(): Promise<void> {
    if (this.isClosed || !this.#socket.writableNeedDrain) return Promise.resolve()
    return firstOf([
      [this.#socket, 'drain'],
      [this.#client, 'close'],
    ])
  }

  end(why: StreamEnd): void {
    if (this.isClosed) return
    const [code, reason] = CLOSING[why]
    this.#client.close(code, reason)
    const timer = setTimeout(() => this.cut(), END_MS_MAX)
    this.#client.once('close', () => clearTimeout(timer))
  }

  cut(): void {
    this.#client.terminate()
  }

  get isClosed(): boolean {
    return this.#client.readyState !== this.#client.OPEN
  }

  onClose(listener: () => void): void {
    if (this.#client.readyState === this.#client.CLOSED) listener()
    else this.#client.once('close', listener)
  }
}
