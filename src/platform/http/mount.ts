// One contract and its handler become one Fastify route.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../db/actor.ts'
import { ByteBudget } from '../byte-budget.ts'
import { isUuid } from '../ids.ts'
import type { Principal } from '../principal.ts'
import { notFound, refuse } from '../refusal.ts'
import type { World } from '../world.ts'
import { dropUnknownFields, hideSensitive, ignoredFieldsHeader } from './body-fields.ts'
import type { Access, Contract, Route } from './contract.ts'
import { fromText, validator } from './validate.ts'

export type Identify = (access: Access, request: FastifyRequest) => Promise<Principal | null>

const JSON_TYPE = 'application/json; charset=utf-8'

export function mount(world: World, app: FastifyInstance, { contract, handle }: Route, identify: Identify): void {
  const read = requestReader(contract)
  const rawType = Object.values(contract.replies).find(schema => schema && 'raw' in schema)
  app.route({
    method: contract.method,
    url: contract.path.replace(/\{(\w+)\}/g, ':$1'),
    bodyLimit: contract.bodyBytesMax ?? 1024 * 1024,
    config: { textRefusal: contract.textRefusal, takesAnyBody: contract.takesAnyBody },
    // Before the body is read: a stranger must not be able to make us parse 40 MiB.
    onRequest: async (request, reply) => {
      request.principal = await identify(contract.access, request)
      if (contract.bodyBytesMax) await waitForRoom(contract.bodyBytesMax, request, reply)
    },
    handler: async (request, reply) => {
      const call = read(request, reply)
      if (world.log.isLevelEnabled('debug')) {
        world.log.debug(
          { request_id: request.id, query: call.query, body: hideSensitive(contract.body, call.body) },
          'call',
        )
      }
      const { status, body, headers } = await handle(call as never)
      reply.code(Number(status))
      if (headers) reply.headers(headers)
      if (body === null) return reply.send()
      if (rawType && (typeof body === 'string' || Buffer.isBuffer(body))) {
        return reply.type((rawType as { raw: string }).raw).send(body)
      }
      return reply.header('cache-control', 'no-store').type(JSON_TYPE).send(JSON.stringify(body))
    },
  })
}

/** A body costs about four times its size until it is answered (bytes, text, values, what is made of them). */
const LARGE_BODIES = new ByteBudget(64 * 1024 * 1024)
const LARGE_BODY_BYTES = 256 * 1024

/** Large bodies wait, unread, for their turn: twenty at once must not need twenty times the memory. */
async function waitForRoom(bodyBytesMax: number, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const announced = request.headers['content-length']
  const bytes = announced === undefined ? bodyBytesMax : Math.min(Number(announced), bodyBytesMax)
  if (bytes <= LARGE_BODY_BYTES) return
  // Listened for first: who gives up while waiting must not keep the room when it comes.
  const gone = new Promise<void>(resolve => reply.raw.once('close', resolve))
  const release = await LARGE_BODIES.acquire(bytes)
  void gone.then(release)
}

/** Compiles the checks of a contract once; the result turns a request into a call or throws the refusal. */
function requestReader(contract: Contract) {
  const checkQuery = contract.query && validator('query', contract.query)
  const checkHeaders = contract.headers && validator('headers', contract.headers)
  const checkBody = contract.body && validator('body', contract.body)

  return (request: FastifyRequest, reply: FastifyReply) => {
    const params = request.params as Record<string, string>
    if (params['id'] !== undefined && !isUuid(params['id'])) throw notFound(contract.noun ?? 'object')
    const query = contract.query ? fromText(contract.query, request.query as Record<string, unknown>) : {}
    checkQuery?.(query)
    const headers = contract.headers ? fromText(contract.headers, request.headers) : {}
    checkHeaders?.(headers)
    return {
      params,
      query,
      headers,
      body: contract.body && checkBody ? readBody(request, reply) : undefined,
      caller: request.principal,
      by: actorOf(contract, request),
      ip: request.sourceIp,
      isForwardedByStranger: request.isForwardedByStranger,
    }
  }

  function readBody(request: FastifyRequest, reply: FastifyReply): unknown {
    let body = request.body
    if (body === undefined) {
      if (!contract.isBodyOptional) throw refuse('invalid_json', 'A JSON body is required.')
      body = {}
    }
    const ignored = dropUnknownFields(contract.body!, body)
    if (ignored.length > 0) reply.header('x-service-ignored-fields', ignoredFieldsHeader(ignored))
    checkBody!(body)
    return body
  }
}

function actorOf(contract: Contract, request: FastifyRequest): Actor {
  const { principal } = request
  const circumstances = { ip: request.sourceIp, requestId: request.id, action: contract.audit }
  if (principal?.kind === 'key') return { type: 'api_key', id: principal.keyId, name: principal.name, ...circumstances }
  if (principal?.kind === 'operator') return { type: 'operator', id: null, name: 'operator', ...circumstances }
  return { type: 'recipient', id: null, name: 'anonymous', ...circumstances }
}
