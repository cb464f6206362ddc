// Compares a value with its schema: which fields the schema does not know (dropped and reported to the caller), and which
// are sensitive (hidden from logs).
import type { TSchema } from 'typebox'

interface JsonSchema {
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  anyOf?: JsonSchema[]
  'x-sensitive'?: boolean
}

/** The header that names them is shorter than so many. */
const DROPPED_MAX = 1_000
/** Enough to recognise a name by; a caller's may have forty million characters. */
export const NAME_CHARS_SHOWN = 100

/** Removes unknown fields from `value` and answers their paths. Objects without declared properties are kept whole. */
export function dropUnknownFields(schema: TSchema, value: unknown): string[] {
  const dropped: string[] = []
  dropUnknown(schema, value, '', dropped)
  return dropped
}

function dropUnknown(schema: JsonSchema, value: unknown, path: string, dropped: string[]): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    if (schema.items && hasFields(schema.items)) {
      for (let index = 0; index < value.length; index++)
        dropUnknown(schema.items, value[index], `${path}[${index}]`, dropped)
    }
    return
  }
  const properties = propertiesOf(schema)
  if (!properties) return
  const fields = value as Record<string, unknown>
  for (const name of Object.keys(fields)) {
    const shown = name.slice(0, NAME_CHARS_SHOWN)
    const fieldPath = path === '' ? shown : `${path}.${shown}`
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (known) dropUnknown(known, fields[name], fieldPath, dropped)
    else {
      delete fields[name]
      if (dropped.length < DROPPED_MAX) dropped.push(fieldPath)
    }
  }
}

/** In a list of texts there is nothing to look for. */
const hasFields = (schema: JsonSchema): boolean => schema.items !== undefined || propertiesOf(schema) !== undefined

const propertiesOf = (schema: JsonSchema): Record<string, JsonSchema> | undefined =>
  schema.properties ?? schema.anyOf?.find(variant => variant.properties)?.properties

/** A copy for the log, with sensitive values hidden. */
export function hideSensitive(schema: TSchema | undefined, value: unknown): unknown {
  return schema ? hide(schema, value) : undefined
}

function hide(schema: JsonSchema, value: unknown): unknown {
  if (schema['x-sensitive']) return '[hidden]'
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return schema.items ? value.map(item => hide(schema.items!, item)) : value
  const properties = propertiesOf(schema)
  if (!properties) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      Object.hasOwn(properties, name) ? hide(properties[name]!, field) : '[unknown]',
    ]),
  )
}

/** Header values are ASCII and bounded; field names come from the caller and may be anything. */
export function ignoredFieldsHeader(paths: readonly string[]): string {
  const HEADER_BYTES_MAX = 1024
  const names = paths.map(path => path.toWellFormed().replace(/[^\w.[\]-]/gu, char => encodeURIComponent(char)))
  let header = ''
  for (const name of names) {
    if (header.length + name.length + 2 > HEADER_BYTES_MAX) return `${header}, …`.replace('…', '...')
    header += header === '' ? name : `, ${name}`
  }
  return header
}
