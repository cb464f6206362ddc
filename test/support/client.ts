// An API client for tests. Every reply it sees is held against the contract of its endpoint, so no test can pass on a reply
// that the OpenAPI document does not describe.
import assert from 'node:assert/strict'
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
  const request: Api['request'] = async (method, path, { body, headers = {} } = {}) => {
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
    const contract = contracts.find(each => each.method === method && matches(each.path, path))
    if (contract) checkReply(contract, reply)
    return reply
  }
  return {
    request,
    get: (path, headers) => request('GET', path, headers ? { headers } : {}),
    post: (path, body, headers) => request('POST', path, { body, ...(headers && { headers }) }),
    put: (path, body) => request('PUT', path, { body }),
    patch: (path, body) => request('PATCH', path, { body }),
    delete: path => request('DELETE', path),
  }
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
