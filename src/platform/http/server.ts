// The HTTP server: contracts become routes. This folder alone knows Fastify. One request: who is it (401, 403), is it
// well formed (400, 404, 413), the handler, the reply; every failure leaves in the one error shape.
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { DRAIN_MS_MAX } from '../feature.ts'
import { newId } from '../ids.ts'
import type { Principal } from '../principal.ts'
import { refuse, Refusal } from '../refusal.ts'
import type { World } from '../world.ts'
import { CallSignals } from './call-signals.ts'
import { endConnectionsOnClose } from './connections.ts'
import type { Access, Contract, Route } from './contract.ts'
import { errorReply } from './errors.ts'
import { LargeAnswers } from './large-answers.ts'
import {
  BODY_BYTES_MAX,
  mount,
  ownerOf,
  tenantOf,
  type Identify,
  type RequestHead,
  type RouteBodyCheck,
} from './mount.ts'
import { otherMethods } from './other-methods.ts'
import { BodyReader } from './read-body.ts'
import { isForwardedByStranger, sourceAddress } from './source-address.ts'
import { StreamMount } from './streams/mount-stream.ts'
import { authorizationOf, isWebSocketRequest } from './streams/websocket.ts'

interface HttpOptions {
  routes: readonly Route[]
  largeAnswers: LargeAnswers
  pages: LargeAnswers
  /** Throws the 401 or 403; answers null for what needs no credentials. */
  identify(request: {
    access: Access
    authorization: string | undefined
    adminToken: string | undefined
    ip: string
  }): Promise<Principal | null>
}

declare module 'fastify' {
  interface FastifyRequest {
    sourceIp: string
    isForwardedByStranger: boolean
    principal: Principal | null
    /** By the clock of `performance`. */
    identifiedAt: number
    head: RequestHead | null
    /** Gives back the memory of the body that was read. */
    releaseBody: (() => void) | null
  }
  interface FastifyContextConfig {
    checkBody?: RouteBodyCheck | undefined
    takesAnyBody?: boolean | undefined
    takesRawBody?: boolean | undefined
    isStream?: boolean | undefined
    presentRefusal?: Contract['presentRefusal']
  }
}

export function createHttpServer(
  world: World,
  { routes, largeAnswers, pages, identify }: HttpOptions,
): FastifyInstance {
  const { log, clock } = world
  const app = fastify({
    logger: false,
    genReqId: () => newId(clock.now()),
    requestIdHeader: false,
    bodyLimit: BODY_BYTES_MAX,
    // A 40 MiB body over a slow line still fits; a client that drips bytes does not.
    requestTimeout: 120_000,
    keepAliveTimeout: 75_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // A request without Host is refused below, in our own words.
    http: { requireHostHeader: false, shouldUpgradeCallback: isWebSocketRequest },
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true, maxParamLength: 512 },
    clientErrorHandler: (error, socket) => answerBrokenHttp(error, socket, newId(clock.now())),
    frameworkErrors: (error, request, reply) => sendFailure(world, error, request, reply),
  })
  decorateRequests(app)
  readBodies(world, app)
  meet(world, app)
  observe(world, app)
  app.setErrorHandler((error, request, reply) => sendFailure(world, error, request, reply))
  const methodsInstead = otherMethods(routes)
  app.setNotFoundHandler((request, reply) => {
    const allowed = methodsInstead(request.method, request.url)
    if (allowed.length === 0) return sendFailure(world, refuse('not_found', 'No such path.'), request, reply)
    reply.header('allow', allowed.join(', '))
    const named = allowed.filter(method => method !== 'HEAD').join(' or ')
    return sendFailure(world, refuse('method_not_allowed', `Use ${named} here.`), request, reply)
  })
  const identifyRequest: Identify = (access, request) =>
    identify({
      access,
      authorization: isStream(request) ? authorizationOf(request.raw) : request.headers.authorization,
      adminToken: request.headers['x-admin-token'] as string | undefined,
      ip: request.sourceIp,
    })
  const streamed = LargeAnswers.ofStreams()
  const signals = new CallSignals()
  endConnectionsOnClose(app)
  app.addHook('preClose', async () => {
    for (const answers of [streamed, largeAnswers, pages]) answers.cutAfter(DRAIN_MS_MAX)
    signals.abortAfter(DRAIN_MS_MAX)
  })
  const mounting = { identify: identifyRequest, largeAnswers, pages, streams: streamed, signals }
  const streams = new StreamMount(app)
  for (const each of routes) {
    if ('open' in each) streams.mount(each, identifyRequest)
    else mount(world, app, each, mounting)
  }
  log.debug({ routes: routes.length }, 'routes mounted')
  return app
}

/** What the server knows of a request besides what Fastify does. */
function decorateRequests(app: FastifyInstance): void {
  app.decorateRequest('sourceIp', '')
  app.decorateRequest('isForwardedByStranger', false)
  app.decorateRequest('principal', null)
  app.decorateRequest('identifiedAt', 0)
  app.decorateRequest('head', null)
  app.decorateRequest('releaseBody', null)
}

const isStream = (request: FastifyRequest): boolean => request.routeOptions.config?.isStream === true

/** Which bodies are read, and how. */
function readBodies({ threads }: World, app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  const bodies = new BodyReader()
  const readBytes = async (request: FastifyRequest, payload: IncomingMessage): Promise<Buffer> => {
    const announced = request.headers['content-length']
    const { bytes, release } = await bodies.read({
      stream: payload,
      bytesMax: request.routeOptions.bodyLimit ?? BODY_BYTES_MAX,
      announcedBytes: announced === undefined ? null : Number(announced),
      owner: ownerOf(request),
      tenant: tenantOf(request),
    })
    // The memory is needed until the handler is done, whether or not the caller waits for it: what is made of a body is as
    // large as the body.
    request.releaseBody = release
    return bytes
  }
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { checkBody, takesRawBody } = request.routeOptions.config
    if (takesRawBody) return readBytes(request, payload)
    // Where nobody takes a body, nothing of it is kept: strangers get this far.
    if (!checkBody) return void payload.resume()
    const bytes = await readBytes(request, payload)
    try {
      return await checkBody(bytes, { threads, owner: ownerOf(request), tenant: tenantOf(request) })
    } catch (error) {
      request.releaseBody?.()
      throw error
    }
  })
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { takesAnyBody, takesRawBody } = request.routeOptions.config
    if (takesRawBody) return readBytes(request, payload)
    const isEmpty = hasNoData(payload)
    payload.resume()
    // A client that sends nothing may call it a form all the same, as curl does.
    if (takesAnyBody || (await isEmpty)) return
    throw refuse('invalid_request', 'Send the body as JSON, with the header Content-Type: application/json.')
  })
}

/** Told at the first byte or the end; the caller sets the stream flowing. A client that goes away has not sent all of it. */
const hasNoData = (payload: IncomingMessage): Promise<boolean> =>
  new Promise(resolve => {
    for (const event of ['data', 'close'] as const) payload.once(event, () => resolve(false))
    payload.once('end', () => resolve(true))
  })

/** What is settled before anything else: where a request comes from, and what every answer carries. */
function meet({ config }: World, app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    const forwardedFor = request.headers['x-forwarded-for'] as string | undefined
    const peer = request.socket.remoteAddress ?? ''
    request.sourceIp = sourceAddress(peer, forwardedFor, config.TRUSTED_PROXIES)
    request.isForwardedByStranger = isForwardedByStranger(peer, request.headers, config.TRUSTED_PROXIES)
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    if (request.raw.httpVersion === '1.1' && !request.headers.host) {
      throw refuse('invalid_request', 'A request needs a Host header.')
    }
  })
}

/** One log line and one observation per request. Query strings and bodies are not logged at this level. */
function observe(world: World, app: FastifyInstance): void {
  const seconds = world.metrics.histogram('sluice_http_request_seconds', 'Time to answer a request', [
    'method',
    'route',
    'status',
  ])
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'unknown'
    const tookMs = reply.elapsedTime
    // The age of a stream that was open is not the time of an answer.
    if (isStream(request) && reply.raw.statusCode < 300) return
    seconds.observe({ method: request.method, route, status: String(reply.statusCode) }, tookMs / 1000)
    if (!world.log.isLevelEnabled('info')) return
    const principal = request.principal?.kind === 'key' ? request.principal.keyId : request.principal?.kind
    world.log.info(
      {
        request_id: request.id,
        method: request.method,
        route,
        status: reply.statusCode,
        ms: Math.round(tookMs * 10) / 10,
        ip: request.sourceIp,
        ...(principal && { by: principal }),
      },
      'request',
    )
  })
}

function sendFailure(world: World, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, headers, body, isOurs } = errorReply(error)
  if (isOurs)
    world.log.error({ err: error, request_id: request.id, route: request.routeOptions?.url }, 'request failed')
  else if (status >= 500) {
    const cause = error instanceof Refusal ? error.cause : error
    world.log.warn({ err: cause, request_id: request.id, status }, 'request could not be served')
  }
  if (status === 413 && !request.raw.complete) hearOut(request, reply)
  const own = error instanceof Refusal ? request.routeOptions?.config?.presentRefusal?.(error) : null
  return reply
    .code(status)
    .headers({ 'x-request-id': request.id, ...headers })
    .send(own ?? body)
}

/** As much as the largest body there may be, and half of it again. */
const UNHEARD_BYTES_MAX = 64 * 1024 * 1024

/** Who is still sending reads no answer: closed at once, the line would break under them before they see it. */
function hearOut({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.removeHeader('connection')
  let heard = 0
  raw.on('data', (chunk: Buffer) => {
    heard += chunk.length
    if (heard > UNHEARD_BYTES_MAX) raw.socket.destroy()
  })
}

/** What never became a request: answered in our shape too, then closed. */
function answerBrokenHttp(error: Error & { code?: string }, socket: Socket, requestId: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const [line, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The request headers are too large.']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'The request took too long to arrive.']
        : ['400 Bad Request', 'This is not a valid HTTP request.']
  const body = JSON.stringify({ error: { code: 'invalid_request', message } })
  const head = [
    `HTTP/1.1 ${line}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
