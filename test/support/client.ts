// An API client for tests. Every reply it sees is checked against the contract of its endpoint, so no test can pass on a reply
// that the OpenAPI document does not describe.
import assert from 'node:assert/strict'
import { Agent, request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TSchema } from 'typebox'
import type { Contract } from '../../src/platform/http/contract.ts'
import { ErrorBody } from '../../src/platform/http/schemas.ts'
import { validator } from '../../src/platform/http/validate.ts'
import { catalogue } from '../../src/platform/refusal.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests read replies freely; their shape is checked below
type Body = any

export interface TestReply {
  status: number
  body: Body
  headers: Headers
}

export interface Api {
  get(path: string, headers?: Record<string, string>): Promise<TestReply>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<TestReply>
  put(path: string, body?: unknown): Promise<TestReply>
  patch(path: string, body?: unknown): Promise<TestReply>
  delete(path: string): Promise<TestReply>
  request(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<TestReply>
}

export interface ClientOptions {
  baseUrl: string
  contracts: readonly Contract[]
  headers: Record<string, string>
}

export function createClient({ baseUrl, contracts, headers: always }: ClientOptions): Api {
  const call: Api['request'] = async (method, path, { body, headers = {} } = {}) => {
    const contract = contracts.find(each => each.method === method && matches(each.path, path))
    if (contract?.stream) return openingOf(contract, `${baseUrl}${path}`, { ...always, ...headers })
    const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const reply = await exchange(baseUrl + path, {
      method,
      headers: { ...always, ...(sent !== undefined && { 'content-type': 'application/json' }), ...headers },
      body: sent,
    })
    assert.ok(reply.headers.get('x-request-id'), 'every response carries X-Request-Id')
    if (contract) checkReply(contract, reply)
    return reply
  }
  return {
    request: call,
    get: (path, headers) => call('GET', path, headers ? { headers } : {}),
    post: (path, body, headers) => call('POST', path, { body, ...(headers && { headers }) }),
    put: (path, body) => call('PUT', path, { body }),
    patch: (path, body) => call('PATCH', path, { body }),
    delete: path => call('DELETE', path),
  }
}

const agent = new Agent({ keepAlive: true })

/** By `node:http`: `fetch` takes the processor twice as long, and tests ask tens of thousands of times. */
async function exchange(
  url: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body: string | undefined },
): Promise<TestReply> {
  // As bytes: a string would be joined to the headers, and they be sent in its encoding.
  const bytes = body === undefined ? null : Buffer.from(body)
  const asked = request(url, {
    agent,
    method,
    headers: { ...headers, ...(bytes && { 'content-length': bytes.length }) },
  })
  const answered = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.on('response', resolve).on('error', reject).end(bytes)
  })
  const content = await text(answered)
  const found = headersOf(answered)
  const isJson = found.get('content-type')?.includes('json') ?? false
  return { status: answered.statusCode!, body: isJson ? JSON.parse(content) : content, headers: found }
}

const headersOf = ({ headers }: IncomingMessage): Headers =>
  new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]))

/** What a stream is answered with: its head, or why there is none. It is closed at once. */
async function openingOf(contract: Contract, url: string, headers: Record<string, string>): Promise<TestReply> {
  const asked = request(url, { headers: { ...(contract.stream === 'websocket' && HANDSHAKE), ...headers } })
  asked.on('error', () => {}).end()
  const answered = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.once('response', resolve).once('upgrade', resolve).once('error', reject)
  })
  const status = answered.statusCode!
  const isOpen = status < 300
  const chunks = isOpen ? [] : await answered.toArray()
  asked.destroy()
  answered.socket?.destroy()
  const body = isOpen ? '' : JSON.parse(Buffer.concat(chunks).toString())
  const reply = { status, body, headers: headersOf(answered) }
  assert.ok(reply.headers.get('x-request-id'), 'every response carries X-Request-Id')
  checkReply(contract, reply)
  return reply
}

const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': Buffer.alloc(16, 'k').toString('base64'),
}

const patterns = new Map<string, RegExp>()

export function matches(pattern: string, path: string): boolean {
  let found = patterns.get(pattern)
  if (!found) {
    found = new RegExp(`^${pattern.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/?]+')}(\\?|$)`)
    patterns.set(pattern, found)
  }
  return found.test(path)
}

const checks = new Map<TSchema, (value: unknown) => void>()

function checkReply(contract: Contract, { status, body, headers }: TestReply): void {
  const place = `${contract.method} ${contract.path} ${status}`
  const schema = contract.replies[status]
  if (schema === null) return assert.equal(body, '', `${place} has no body`)
  if (schema && 'raw' in schema) return
  if (schema) return check(schema, body, place)
  assert.ok(status >= 400, `${place} is not declared`)
  check(ErrorBody, body, place)
  const known = (catalogue as Record<string, { status: number }>)[body.error.code]
  assert.equal(known?.status, status, `${place}: ${body.error.code} is not a code of this status`)
  if (status === 429 || status === 503)
    assert.match(headers.get('retry-after') ?? '', /^\d+$/, `${place} has Retry-After`)
}

function check(schema: TSchema, body: unknown, place: string): void {
  let run = checks.get(schema)
  if (!run) {
    run = validator('reply', schema)
    checks.set(schema, run)
  }
  try {
    run(body)
  } catch (cause) {
    throw new Error(`${place} answers what its contract does not say: ${(cause as Error).message}`, { cause })
  }
}
