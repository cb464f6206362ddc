// A contract per endpoint, declared once. Validation, types, 401 and 403, the audit action, log redaction, OpenAPI
// and the access matrix all follow from it.
import type { Static, TSchema } from 'typebox'
import type { Actor } from '../db/actor.ts'
import type { KeyPrincipal, Level, OperatorPrincipal, Scope } from '../principal.ts'
import type { Refusal, RefusalCode } from '../refusal.ts'
import type { StreamChannel } from './streams/channel.ts'

export type Access =
  | { kind: 'public' }
  | { kind: 'operator' }
  | {
      kind: 'key'
      scope: Scope
      /** A key with this scope gets in as well; what it may do there, the handler says. */
      orScope: Scope | null
      levels: readonly Level[]
      /** Lets a tenant-bound key in whatever its scopes; the recipe decides what it may do. */
      tenantAdmin: boolean
    }

export const anyone: Access & { kind: 'public' } = { kind: 'public' }
export const operator: Access & { kind: 'operator' } = { kind: 'operator' }

/** `suspend` and `admin` need an account-wide key; inbox keys get in only where named. */
export const key = (
  scope: Scope,
  options: { levels?: readonly Level[]; tenantAdmin?: boolean; orScope?: Scope } = {},
): Access & { kind: 'key' } => ({
  kind: 'key',
  scope,
  orScope: options.orScope ?? null,
  levels: options.levels ?? (scope === 'admin' || scope === 'suspend' ? ['account'] : ['account', 'tenant']),
  tenantAdmin: options.tenantAdmin ?? false,
})

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * Null is a reply without a body (204); `raw` is one that is not made from a schema: its media type, or several, of which the
 * handler names one in the header `content-type` where it is not the first. `frame`: what the events of a stream are.
 */
export type ReplySchema = TSchema | null | { raw: string | readonly string[]; frame?: TSchema }

/** A raw reply that is sent as it is made: memory stays the same whatever its length. */
export type Chunks = AsyncIterable<string | Buffer>

export interface Contract {
  method: Method
  /** As in the spec: `/v1/tenants/{id}`. A path value called `id` is a UUID; a malformed one answers 404. */
  path: `/${string}`
  summary: string
  /** In OpenAPI, where the one that follows from method and path says too little or is taken. */
  operationId?: string
  access: Access
  /** What a missing object is called in a 404, where that is not what the path calls it. */
  noun?: string
  /** Values of a name in the path, for the document; another one is refused by the handler, in its order of refusals. */
  pathEnums?: Readonly<Record<string, readonly string[]>>
  query?: TSchema
  headers?: TSchema
  body?: TSchema
  /** The body may be left out altogether. */
  isBodyOptional?: boolean
  bodyBytesMax?: number
  /** A body of any type is taken and not looked at (forms that machines post, RFC 8058). */
  takesAnyBody?: boolean
  /** The handler gets the bytes as they came, of any type: a signature is over them and not over what they mean. */
  takesRawBody?: boolean
  /**
   * Answers as much as a long page of a list does, and shares the permits of the account's other pages; or whether it does, by
   * the body.
   */
  isLargeRead?: boolean | ((body: never) => boolean)
  /** Answers in chunks that are made while they are read. It may last longer than other answers. */
  isStreamed?: boolean
  /** Answers with a stream of frames that ends when one side wants it to; its handler is declared by `streamRoute`. */
  stream?: 'sse' | 'websocket'
  /** What a NUL in a text of the body is refused with, where it is not `invalid_request`. */
  textRefusal?: RefusalCode
  /** For endpoints whose protocol has errors of its own. Null: the refusal is answered as everywhere. */
  presentRefusal?(refusal: Refusal): object | null
  replies: { readonly [status: number]: ReplySchema }
  refusals?: readonly RefusalCode[]
  /** The audit action of every call that changes something; null, or left out by a GET, on reads. */
  audit?: string | null
}

type Rest<M> = Omit<Contract, 'method' | 'path'> & (M extends 'GET' ? object : { audit: string | null })

/** A contract by its method: `get('/v1/tenants/{id}', { … })`. */
const declare =
  <const M extends Method>(method: M) =>
  <const P extends Contract['path'], const C extends Rest<M>>(path: P, rest: C) => ({ method, path, ...rest })

export const get = declare('GET')
export const post = declare('POST')
export const put = declare('PUT')
export const patch = declare('PATCH')
export const del = declare('DELETE')

/** What a handler is given. Its types say who may be calling. */
interface Call<C extends Contract> {
  params: Record<PathNames<C['path']>, string>
  query: C['query'] extends TSchema ? Static<C['query']> : Record<string, never>
  headers: C['headers'] extends TSchema ? Static<C['headers']> : Record<string, never>
  body: C['takesRawBody'] extends true ? Buffer : C['body'] extends TSchema ? Static<C['body']> : undefined
  caller: C['access'] extends { kind: 'key' }
    ? KeyPrincipal
    : C['access'] extends { kind: 'operator' }
      ? OperatorPrincipal
      : null
  /** The caller as the audit log will name it. */
  by: Actor
  ip: string
  /** `ip` is that of a proxy which nobody told us to trust. */
  isForwardedByStranger: boolean
}

type PathNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never

type BodyOf<S> = S extends TSchema ? Static<S> : S extends { raw: unknown } ? string | Buffer | Chunks : null

type Reply<C extends Contract> = {
  [Status in keyof C['replies']]: {
    status: Status
    body: BodyOf<C['replies'][Status]>
    headers?: Record<string, string>
  }
}[keyof C['replies']]

export type Route = CallRoute | StreamRoute

export interface CallRoute {
  contract: Contract
  handle(call: never): Promise<{ status: PropertyKey; body: unknown; headers?: Record<string, string> }>
}

export const route = <C extends Contract>(
  contract: C,
  handle: (call: Call<C> & Waiting) => Promise<Reply<C>>,
): CallRoute => ({ contract, handle })

/** For handlers that wait for somebody else. */
interface Waiting {
  /** Aborted when nobody waits for the answer any more. */
  signal(): AbortSignal
}

/** What a stream does once it is open. Called exactly once, also when the caller has gone meanwhile. */
export type BeginStream = (channel: StreamChannel) => void

export interface StreamRoute {
  contract: Contract & { stream: 'sse' | 'websocket' }
  open(call: never): Promise<BeginStream>
}

/** `open` decides whether there is a stream: what it refuses is answered like any request, before anything is upgraded. */
export const streamRoute = <C extends StreamRoute['contract']>(
  contract: C,
  open: (call: Call<C>) => Promise<BeginStream>,
): StreamRoute => ({ contract, open })

/** What a handler answers; the status is checked against the contract. */
export const reply = <const Status extends number, Body>(
  status: Status,
  body: Body,
  headers: Record<string, string> = {},
): { status: Status; body: Body; headers: Record<string, string> } => ({ status, body, headers })

/** The answer to an act that leaves nothing to say. */
export const done = async (act: Promise<unknown>) => reply(204, await act.then(() => null))
