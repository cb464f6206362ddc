// A contract of a stream and its handler become one Fastify route. Until the handler has agreed it is a request like any
// other; then the connection is taken from Fastify and belongs to the channel.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../../refusal.ts'
import type { StreamRoute } from '../contract.ts'
import { onBehalfOf, requestReader, type Identify } from '../mount.ts'
import type { StreamChannel } from './channel.ts'
import { SSE_HEADERS, SseChannel } from './sse.ts'
import { checkHandshake, WebSocketUpgrades } from './websocket.ts'

// An `import` of it reads all that the module exports, and so loads the fetch and the WebSocket of Node: 27 ms of CPU.
const { ServerResponse } = process.getBuiltinModule('node:http')

interface Upgrade {
  socket: Duplex
  head: Buffer
}

/** For a refusal to be read. */
const LINGER_MS = 1_000

export class StreamMount {
  readonly #app: FastifyInstance
  readonly #upgrades = new WeakMap<IncomingMessage, Upgrade>()
  readonly #webSockets = new WebSocketUpgrades()
  readonly #open = new Set<StreamChannel>()
  #isStopping = false

  constructor(app: FastifyInstance) {
    this.#app = app
    // Fastify routes what was asked to be upgraded like any request; without this nobody would.
    app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#route(request, { socket, head }),
    )
    // Before the server waits for its connections to end.
    app.addHook('preClose', done => {
      this.#isStopping = true
      for (const channel of this.#open) channel.end('stopping')
      done()
    })
  }

  mount({ contract, open }: StreamRoute, identify: Identify): void {
    const read = requestReader(contract)
    const identifyNow = async (request: FastifyRequest): Promise<void> => {
      request.principal = await identify(contract.access, request)
    }
    this.#app.route({
      method: contract.method,
      url: contract.path.replace(/\{(\w+)\}/g, ':$1'),
      exposeHeadRoute: false,
      config: { isStream: true },
      onRequest: async request => {
        await identifyNow(request)
        refuseKeysInUrl(request)
        request.head = read.head(request)
        if (contract.stream === 'websocket') checkHandshake(request.raw, this.#upgrades.has(request.raw))
        if (this.#isStopping)
          throw refuse('unavailable', 'The server is stopping. Try again.', { retryAfterSeconds: 1 })
      },
      handler: async (request, reply) => {
        const opened = () => open(read.call(request, reply) as never)
        // It may wait a minute for its turn. Streams that are open are looked at by themselves.
        const begin = await onBehalfOf(request, opened, () => identifyNow(request))
        reply.hijack()
        const channel = contract.stream === 'sse' ? this.#respond(reply) : this.#upgrade(request, reply)
        this.#keep(channel)
        onBehalfOf(request, () => begin(channel))
      },
    })
  }

  #route(request: IncomingMessage, upgrade: Upgrade): void {
    const { socket } = upgrade
    socket.on('error', () => {})
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket as never)
    // What was refused is answered; nothing further can be asked over this connection.
    response.on('finish', () => {
      socket.end()
      // A client that keeps its side open would keep the connection, and the server from closing.
      const cut = setTimeout(() => socket.destroy(), LINGER_MS)
      socket.once('close', () => clearTimeout(cut))
    })
    this.#upgrades.set(request, upgrade)
    this.#app.routing(request, response)
  }

  #respond(reply: FastifyReply): StreamChannel {
    // Hijacked: what hooks have set would not be sent otherwise.
    reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...SSE_HEADERS })
    return new SseChannel(reply.raw)
  }

  #upgrade({ raw, id }: FastifyRequest, reply: FastifyReply): StreamChannel {
    const { socket, head } = this.#upgrades.get(raw)!
    reply.raw.detachSocket(socket as never)
    return this.#webSockets.complete(raw, socket, head, [`x-request-id: ${id}`]) ?? CLOSED
  }

  #keep(channel: StreamChannel): void {
    this.#open.add(channel)
    channel.onClose(() => this.#open.delete(channel))
    // It may have been opened while the others were ended.
    if (this.#isStopping) channel.end('stopping')
  }
}

/** URLs are logged by everybody on the way. A key that was put into one is refused, so that nobody gets used to it. */
function refuseKeysInUrl({ url }: FastifyRequest): void {
  if (/[=&?]svc[_.]/i.test(url)) {
    throw refuse('invalid_request', 'An API key must not be put into a URL: send it in the Authorization header.')
  }
}

/** Of a caller that went away between its request and the answer. */
const CLOSED: StreamChannel = {
  send: () => {},
  ping: () => {},
  backlogBytes: 0,
  drained: async () => {},
  end: () => {},
  cut: () => {},
  isClosed: true,
  onClose: listener => listener(),
}
