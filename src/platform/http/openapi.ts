// The OpenAPI 3.1 document, generated from the contracts. JSON Schema is the schema of 3.1, so a contract's schemas are
// copied as they are; those with a component name are lifted out and referred to.
import type { TSchema } from 'typebox'
import { catalogue, type RefusalCode } from '../refusal.ts'
import type { Access, Contract, ReplySchema } from './contract.ts'
import { ErrorBody } from './schemas.ts'

type Json = Record<string, unknown>

/** What each group of endpoints is about. */
const TAGS: Record<string, string> = {
  account: 'The account of the key and its settings',
  alerts: 'What the guardian and others found worth telling',
  'alert-contacts': 'Who is told of alerts, and how',
  'api-keys': 'Keys for this API',
  audit: 'Who changed what',
  billing: 'Plans, usage, and what a month is going to cost',
  complaints: 'Complaints of recipients, passed on by the customer',
  domains: 'Domains to send from and receive on, and their DNS records',
  'approval-links': 'What alert contacts are led to by the links in their mail',
  events: 'What happened, in order',
  mcp: 'Mailboxes for agents, over the Model Context Protocol',
  messages: 'Sending, and what became of it',
  metrics: 'Counters over time',
  operator: 'For the operator of the installation, with the operator token',
  overview: 'The account at a glance',
  queue: 'What waits to be sent',
  reputation: 'How receivers see each tenant and domain',
  rules: 'When the guardian alerts, throttles or pauses',
  service: 'Health, metrics and the description of the service itself',
  'smtp-credentials': 'Logins for SMTP submission',
  suppressions: 'Addresses that get no mail',
  suspensions: 'Pauses',
  tenants: 'Customers of the account',
  unsubscribe: 'What recipients are led to by the links in their mail',
  webhooks: 'Events pushed to URLs',
}

export function openApiDocument(
  contracts: readonly Contract[],
  info: { title: string; version: string; description: string; license: { name: string; identifier: string } },
): Json {
  const components = new Map<string, Json>()
  const paths: Record<string, Json> = {}
  for (const contract of contracts) {
    const operations = (paths[contract.path] ??= {})
    operations[contract.method.toLowerCase()] = operationOf(contract, components)
  }
  lift(ErrorBody, components)
  return {
    openapi: '3.1.0',
    info,
    // Relative to where the document was fetched: an installation may be reached by several names.
    servers: [{ url: '/', description: 'The installation that serves this document' }],
    tags: [...new Set(contracts.map(({ path }) => tagOf(path)))]
      .toSorted()
      .map(name => ({ name, ...(TAGS[name] && { description: TAGS[name] }) })),
    paths,
    components: {
      headers: HEADERS,
      schemas: Object.fromEntries([...components].toSorted(([left], [right]) => left.localeCompare(right))),
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key: svc_<prefix>_<secret>' },
        operator: { type: 'apiKey', in: 'header', name: 'X-Admin-Token' },
      },
    },
  }
}

function operationOf(contract: Contract, components: Map<string, Json>): Json {
  const { access } = contract
  const pathNames = [...contract.path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)
  const parameters = [
    ...pathNames.map(name => ({ name, in: 'path', required: true, schema: pathSchema(contract, name) })),
    ...parametersOf(contract.query, 'query'),
    ...parametersOf(contract.headers, 'header'),
  ]
  return {
    operationId: operationIdOf(contract),
    summary: contract.summary,
    tags: [tagOf(contract.path)],
    description: needOf(access),
    ...(parameters.length > 0 && { parameters }),
    ...(contract.body && {
      requestBody: {
        required: !contract.isBodyOptional,
        content: { 'application/json': { schema: lift(contract.body, components) } },
      },
    }),
    ...(contract.takesRawBody && { requestBody: { required: true, content: { 'application/json': {} } } }),
    responses: responsesOf(contract, components),
    security: access.kind === 'public' ? [] : [{ [access.kind]: [] }],
  }
}

function needOf(access: Access): string {
  if (access.kind === 'public') return 'Needs no credentials.'
  if (access.kind === 'operator') return 'Needs the operator token.'
  const scopes = [access.scope, ...(access.orScope ? [access.orScope] : [])].map(scope => `\`${scope}\``)
  return `Needs the scope ${scopes.join(' or ')}; key levels: ${levelsOf(access)}.`
}

const levelsOf = (access: { levels: readonly string[]; tenantAdmin: boolean }): string =>
  [...access.levels, ...(access.tenantAdmin ? ['tenant (its own)'] : [])].join(', ')

function pathSchema({ pathEnums }: Contract, name: string): Json {
  if (pathEnums?.[name]) return { type: 'string', enum: pathEnums[name] }
  return name === 'id' ? { type: 'string', format: 'uuid' } : { type: 'string' }
}

function parametersOf(schema: TSchema | undefined, location: 'query' | 'header'): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property
    return {
      name,
      in: location,
      required: required.includes(name),
      ...(description ? { description } : {}),
      schema: rest,
    }
  })
}

/** Of answers. */
const HEADERS = {
  RequestId: { description: 'Names this request in the log', schema: { type: 'string', format: 'uuid' } },
  RetryAfter: { description: 'In so many seconds it may be tried again', schema: { type: 'integer', minimum: 1 } },
  IgnoredFields: {
    description:
      'Fields of the body that are not known, percent-encoded, separated by commas; the first 1,000 characters',
    schema: { type: 'string' },
  },
}

const ERROR = { content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } }

function responsesOf(contract: Contract, components: Map<string, Json>): Json {
  const responses: Json = {}
  for (const [status, schema] of Object.entries(contract.replies)) responses[status] = responseOf(schema, components)
  if (contract.stream === 'websocket') responses[101] = { description: 'Switching to WebSocket: one frame per message' }
  const byStatus = Map.groupBy(refusalsOf(contract), code => catalogue[code].status)
  for (const [status, codes] of [...byStatus].toSorted(([left], [right]) => left - right)) {
    // An endpoint that refuses in a form of its own has it among its replies.
    const { content } = (responses[status] ?? ERROR) as { content: Json }
    responses[status] = { description: codes.map(code => `\`${code}\``).join(', '), content }
  }
  for (const [status, response] of Object.entries(responses)) {
    Object.assign(response as Json, { headers: headersOf(Number(status), contract.body !== undefined) })
  }
  return responses
}

const headersOf = (status: number, hasBody: boolean): Json => ({
  'X-Request-Id': { $ref: '#/components/headers/RequestId' },
  ...((status === 429 || status === 503) && { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }),
  ...(status < 300 && hasBody && { 'X-Service-Ignored-Fields': { $ref: '#/components/headers/IgnoredFields' } }),
})

function responseOf(schema: ReplySchema, components: Map<string, Json>): Json {
  if (schema === null) return { description: 'Done' }
  if ('raw' in schema) {
    const { raw, frame } = schema as { raw: string | readonly string[]; frame?: TSchema }
    const content = frame ? { schema: lift(frame, components) } : {}
    return { description: 'OK', content: Object.fromEntries([raw].flat().map(type => [type, content])) }
  }
  return { description: 'OK', content: { 'application/json': { schema: lift(schema, components) } } }
}

/** What every endpoint of a kind may answer, besides what its contract names. */
function refusalsOf({ access, body, takesRawBody, query, path, method, refusals = [] }: Contract): RefusalCode[] {
  const codes = new Set<RefusalCode>(refusals)
  if (access.kind !== 'public') codes.add('unauthorized')
  if (access.kind === 'key')
    for (const code of ['key_expired', 'insufficient_scope', 'ip_not_allowed', 'rate_limited'] as const) codes.add(code)
  if (body || query || takesRawBody) codes.add('invalid_request')
  if (takesRawBody) codes.add('payload_too_large')
  if (body) for (const code of ['invalid_json', 'payload_too_large'] as const) codes.add(code)
  if (path.includes('{id}')) codes.add('not_found')
  if (access.kind !== 'public' || method !== 'GET') codes.add('unavailable')
  return [...codes]
}

/** Copies a schema, replacing named parts by references and dropping our own annotations. */
function lift(schema: TSchema, components: Map<string, Json>): Json {
  return copy(schema, components) as Json
}

/** What the validator and the log are told, and no caller needs to know. */
const OWN_KEYWORDS = new Set(['x-sensitive', 'x-lower-case', 'x-too-long', 'x-too-many'])

function copy(node: unknown, components: Map<string, Json>): unknown {
  if (Array.isArray(node)) return node.map(item => copy(item, components))
  if (typeof node !== 'object' || node === null) return node
  const { 'x-component': name, ...rest } = node as Json
  const shown = Object.entries(rest).filter(([key]) => !OWN_KEYWORDS.has(key))
  const fields = Object.fromEntries(shown.map(([key, value]) => [key, copy(value, components)]))
  if (typeof name !== 'string') return fields
  components.set(name, fields)
  return { $ref: `#/components/schemas/${name}` }
}

/** `POST /v1/tenants/{id}/pause` becomes `postTenantsPause`: stable names for generated clients. */
function operationIdOf({ method, path, operationId }: Contract): string {
  if (operationId) return operationId
  const words = path
    .replace(/^\/v1\b/, '')
    .split('/')
    .filter(Boolean)
  const one = words.at(-1)?.startsWith('{') ? 'One' : ''
  const name = words.filter(word => !word.startsWith('{')).flatMap(word => word.split(/[^A-Za-z0-9]/))
  return method.toLowerCase() + name.map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('') + one
}

function tagOf(path: string): string {
  if (path.startsWith('/admin/')) return 'operator'
  const [first, second] = path.split('/').slice(1)
  return first === 'v1' ? second! : path.includes('{') || first === 'mcp' ? first! : 'service'
}
