// One contract and its handler become one Fastify route.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TObject } from 'typebox'
import type { Actor } from '../db/actor.ts'
import { isUuid } from '../ids.ts'
import { runFor } from '../owner.ts'
import type { Principal } from '../principal.ts'
import { networkOf } from '../net/cidr.ts'
import { notFound, refuse } from '../refusal.ts'
import type { World } from '../world.ts'
import { hideSensitive, ignoredFieldsHeader } from './body-fields.ts'
import { bodyCheck, type CheckedBody } from './check-body.ts'
import type { CallSignals } from './call-signals.ts'
import type { Access, CallRoute, Contract } from './contract.ts'
import type { LargeAnswers } from './large-answers.ts'
import type { ThreadPool } from '../threads/thread-pool.ts'
import { checkInThread, LARGE_BODY_BYTES, schemaText } from './large-bodies.ts'
import { sendRaw } from './raw-reply.ts'
import { fromText, validator } from './validate.ts'

type Answer = Awaited<ReturnType<CallRoute['handle']>>

export type Identify = (access: Access, request: FastifyRequest) => Promise<Principal | null>

/** Of endpoints that do not say otherwise. */
export const BODY_BYTES_MAX = 1024 * 1024

/**
 * A body may take minutes, and so may waiting. A key that was revoked meanwhile does nothing any more: it would make the
 * next one.
 */
const IDENTIFIED_MS_MAX = 250

const JSON_TYPE = 'application/json; charset=utf-8'

interface Mounting {
  identify: Identify
  largeAnswers: LargeAnswers
  pages: LargeAnswers
  streams: LargeAnswers
  signals: CallSignals
}

export function mount(
  world: World,
  app: FastifyInstance,
  { contract, handle }: CallRoute,
  { identify, largeAnswers, pages, streams, signals }: Mounting,
): void {
  const read = requestReader(contract)
  const isLarge =
    Boolean(contract.isLargeRead) || 'limit' in ((contract.query as TObject | undefined)?.properties ?? {})
  const isPage = isLarge && contract.access.kind === 'public'
  const share = contract.isStreamed ? streams : isPage ? pages : isLarge ? largeAnswers : null
  const takesShare = (body: unknown): boolean =>
    typeof contract.isLargeRead !== 'function' || contract.isLargeRead(body as never)
  const identifyNow = async (request: FastifyRequest): Promise<void> => {
    request.principal = await identify(contract.access, request)
    request.identifiedAt = performance.now()
  }
  const confirm = async (request: FastifyRequest): Promise<void> => {
    if (performance.now() - request.identifiedAt > IDENTIFIED_MS_MAX) await identifyNow(request)
  }
  const answerOf = async (request: FastifyRequest, reply: FastifyReply) => {
    try {
      const call = { ...read.call(request, reply), signal: () => signals.of(reply) }
      logCall(world, contract, { id: request.id, ...call })
      if (share && takesShare(call.body))
        await share.begin(isPage ? networkOf(request.sourceIp) : ownerOf(request), request, reply)
      await confirm(request)
      return await handle({ ...call, ...callerOf(contract, request) } as never)
    } finally {
      request.releaseBody?.()
    }
  }
  app.route({
    method: contract.method,
    url: contract.path.replace(/\{(\w+)\}/g, ':$1'),
    bodyLimit: contract.bodyBytesMax ?? BODY_BYTES_MAX,
    config: {
      checkBody: routeBodyCheck(contract),
      takesAnyBody: contract.takesAnyBody,
      takesRawBody: contract.takesRawBody,
      presentRefusal: contract.presentRefusal,
    },
    // Before the body is read: a stranger must not be able to make us parse 40 MiB.
    onRequest: async request => {
      await identifyNow(request)
      request.head = read.head(request)
    },
    handler: (request, reply) => {
      const answer = async () => {
        try {
          await send(reply, await answerOf(request, reply), { contract, world })
        } finally {
          share?.made(reply.raw)
        }
        return reply
      }
      return onBehalfOf(request, answer, () => confirm(request))
    },
  })
}

function logCall(
  { log }: World,
  contract: Contract,
  { id, query, body }: { id: string; query: Record<string, unknown>; body: unknown },
): void {
  if (!log.isLevelEnabled('debug')) return
  const shown = { query: hideSensitive(contract.query, query), body: hideSensitive(contract.body, body) }
  log.debug({ request_id: id, ...shown }, 'call')
}

async function send(
  reply: FastifyReply,
  { status, body, headers }: Answer,
  { contract, world }: { contract: Contract; world: World },
): Promise<void> {
  reply.code(Number(status))
  if (headers) reply.headers(headers)
  if (body === null) return void reply.send()
  const schema = contract.replies[Number(status)]
  if (schema && 'raw' in schema) {
    return sendRaw(world.log, reply, body, [schema.raw].flat() as string[])
  }
  void reply.header('cache-control', 'no-store').type(JSON_TYPE).send(JSON.stringify(body))
}

export type RouteBodyCheck = (
  bytes: Buffer,
  by: { threads: ThreadPool; owner: string; tenant: string },
) => CheckedBody | Promise<CheckedBody>

/** Where a body is taken: small ones are checked at once, large ones in a thread. */
function routeBodyCheck({ body, textRefusal }: Contract): RouteBodyCheck | undefined {
  if (!body) return undefined
  const check = bodyCheck(body, textRefusal)
  const schema = schemaText(body)
  return (bytes, { threads, ...whose }) =>
    bytes.length <= LARGE_BODY_BYTES ? check(bytes) : checkInThread(threads, bytes, { schema, textRefusal, ...whose })
}

/** What is known of a request before its body is read. */
export interface RequestHead {
  params: Record<string, string>
  query: Record<string, unknown>
  headers: Record<string, unknown>
}

/** Compiles the checks of a contract once; the result turns a request into a call or throws the refusal. */
export function requestReader(contract: Contract) {
  const checkQuery = contract.query && validator('query', contract.query)
  const checkHeaders = contract.headers && validator('headers', contract.headers)
  const checkEmpty = contract.body && contract.isBodyOptional ? validator('body', contract.body) : null

  return {
    head: (request: FastifyRequest): RequestHead => {
      const params = { ...(request.params as Record<string, string>) }
      // No name here has a NUL in it, and the database could not be asked.
      const isNowhere = Object.values(params).some(value => value.includes('\0'))
      if (isNowhere || (params['id'] !== undefined && !isUuid(params['id']))) throw notFound(nounOf(contract))
      if (params['id'] !== undefined) params['id'] = params['id'].toLowerCase()
      const query = contract.query ? fromText(contract.query, request.query as Record<string, unknown>) : {}
      checkQuery?.(query)
      const headers = contract.headers ? fromText(contract.headers, request.headers) : {}
      checkHeaders?.(headers)
      return { params, query, headers }
    },
    call: (request: FastifyRequest, reply: FastifyReply) => ({
      ...request.head!,
      body: contract.takesRawBody ? readRawBody(request) : contract.body ? readBody(request, reply) : undefined,
      ...callerOf(contract, request),
      ip: request.sourceIp,
      isForwardedByStranger: request.isForwardedByStranger,
    }),
  }

  function readBody(request: FastifyRequest, reply: FastifyReply): unknown {
    const { value, ignored } = (request.body as CheckedBody | undefined) ?? { value: undefined, ignored: [] }
    if (value === undefined) {
      if (!checkEmpty) throw refuse('invalid_json', 'A JSON body is required.')
      checkEmpty({})
      return {}
    }
    if (ignored.length > 0) reply.header('x-service-ignored-fields', ignoredFieldsHeader(ignored))
    return value
  }
}

/** `/v1/alert-contacts/{id}` is about an alert contact. */
function nounOf({ noun, path }: Contract): string {
  const collection = /([\w-]+)\/\{id\}/.exec(path)?.[1] ?? 'objects'
  return noun ?? collection.replace(/(?<=x)es$|s$/, '').replaceAll('-', ' ')
}

/** None at all is an empty one: what it means is for the handler to say. */
const readRawBody = ({ body }: FastifyRequest): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0))

/**
 * Whose share of memory, threads and connections a request takes: an account's. Strangers have one together: addresses are
 * cheap, and each would bring a share of its own.
 */
export const ownerOf = ({ principal }: FastifyRequest): string =>
  principal?.kind === 'key' ? principal.reach.accountId : (principal?.kind ?? 'strangers')

/** Of the account. Empty where the key is for all of its tenants. */
export const tenantOf = ({ principal }: FastifyRequest): string =>
  (principal?.kind === 'key' && principal.reach.tenantId) || ''

export const onBehalfOf = <T>(request: FastifyRequest, act: () => T, confirm?: () => Promise<void>): T =>
  runFor(ownerOf(request), act, { tenant: tenantOf(request), ...(confirm && { confirm }) })

const callerOf = (contract: Contract, request: FastifyRequest) => ({
  caller: request.principal,
  by: actorOf(contract, request),
})

function actorOf(contract: Contract, request: FastifyRequest): Actor {
  const { principal } = request
  const circumstances = { ip: request.sourceIp, requestId: request.id, action: contract.audit ?? null }
  if (principal?.kind === 'key') return { type: 'api_key', id: principal.keyId, name: principal.name, ...circumstances }
  if (principal?.kind === 'operator') return { type: 'operator', id: null, name: 'operator', ...circumstances }
  return { type: 'recipient', id: null, name: 'anonymous', ...circumstances }
}
