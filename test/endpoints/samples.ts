// Sample requests made from the contracts themselves, so that a new endpoint is under every generated test without a line
// of its own. A schema may say `examples: [...]` where a made-up value would not do.
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import type { TSchema } from 'typebox'
import type { Contract } from '../../src/platform/http/contract.ts'

interface JsonSchema {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  minItems?: number
  minimum?: number
  maximum?: number
  format?: string
  examples?: unknown[]
}

/** Required fields only. */
export const smallestBody = (schema: TSchema): unknown => sample(schema, false)

/** Every field: on PATCH each one is optional, and a change must be among them. */
export const fullBody = (schema: TSchema): unknown => sample(schema, true)

export const bodyFor = (contract: Contract): unknown =>
  contract.body && (contract.method === 'PATCH' ? fullBody(contract.body) : smallestBody(contract.body))

/** A query that is valid as far as the schema can say: only what is required. */
export function pathFor(contract: Contract, ids: Record<string, string>): string {
  const path = contract.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? randomUUID())
  const { properties = {}, required = [] } = (contract.query ?? {}) as JsonSchema
  const query = required.map(name => `${name}=${encodeURIComponent(String(sample(properties[name]!, false)))}`)
  return query.length > 0 ? `${path}?${query.join('&')}` : path
}

function sample(schema: JsonSchema, isFull: boolean): unknown {
  if (schema.examples) return structuredClone(schema.examples[0])
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return sample(schema.anyOf[0]!, isFull)
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'object':
      return sampleObject(schema, isFull)
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items!, isFull))
    case 'integer':
    case 'number': {
      const minimum = schema.minimum ?? 0
      return randomInt(minimum, Math.min(schema.maximum ?? minimum + 1000, minimum + 1000) + 1)
    }
    case 'boolean':
      return true
    case 'string':
      return sampleText(schema)
    default:
      return {}
  }
}

function sampleObject({ properties = {}, required = [] }: JsonSchema, isFull: boolean): object {
  const names = isFull ? Object.keys(properties) : required
  return Object.fromEntries(names.map(name => [name, sample(properties[name]!, isFull)]))
}

function sampleText({ format }: JsonSchema): string {
  switch (format) {
    case 'uuid':
      return randomUUID()
    case 'date-time':
      return '2030-01-01T00:00:00.000Z'
    case 'date':
      return '2030-01-01'
    case 'month':
      return '2030-01'
    case 'cidr':
      return '192.0.2.0/24'
    case 'email':
      return `sample-${randomBytes(6).toString('hex')}@example.com`
    case 'uri':
      return 'https://example.com/hook'
    default:
      return `sample-${randomBytes(6).toString('hex')}`
  }
}
