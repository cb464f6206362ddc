// An API client for tests. Every reply it sees is checked against the contract of its endpoint, so no test can pass on a reply
// that the OpenAPI document does not describe.
import assert from 'node:assert/strict'
import { request, type IncomingMessage } from 'node:http'
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
    const hasBody = body !== undefined
    const response = await fetch(baseUrl + path, {
      method,
      redirect: 'manual',
      headers: { ...always, ...(hasBody && { 'content-type': 'application/json' }), ...headers },
      ...(hasBody && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') ?? false
    const reply = { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers }
    assert.ok(response.headers.get('x-request-id'), 'every response carries X-Request-Id')
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
  const entries = Object.entries(answered.headers).map(([name, value]) => [name, String(value)] as [string, string])
  const reply = {
    status,
    body: isOpen ? '' : JSON.parse(Buffer.concat(chunks).toString()),
    headers: new Headers(entries),
  }
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

export const matches = (pattern: string, path: string): boolean =>
  new RegExp(`^${pattern.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`).test(path.split('?')[0]!)

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
