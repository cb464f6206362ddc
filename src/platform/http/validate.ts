// Checks values against contract schemas. A body is JSON and is never converted (the usual conversion turns null into
// 0, and those mean opposite things); a query is text and is converted first, by rules of our own.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { DataValidationCxt } from 'ajv/dist/types/index.js'
import type { TSchema } from 'typebox'
import { isUuid } from '../ids.ts'
import { parseCidr } from '../net/cidr.ts'
import { refuse, type RefusalCode } from '../refusal.ts'
import { NAME_CHARS_SHOWN } from './body-fields.ts'

const DATE_TIME = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:?\d\d)$/
const DATE = /^\d{4}-\d\d-\d\d$/

const formats = {
  uuid: isUuid,
  cidr: (text: string) => parseCidr(text) !== null,
  'date-time': (text: string) => DATE_TIME.test(text) && !Number.isNaN(Date.parse(text)) && isDay(text),
  date: (text: string) => DATE.test(text) && isDay(text),
  month: (text: string) => /^\d{4}-(0[1-9]|1[0-2])$/.test(text) && yearIsSane(text),
  uri: (text: string) => URL.canParse(text),
  /** Only the outline: what takes an address parses it. */
  email: (text: string) => /^[^\s@]+@[^\s@]+$|^"[^"]+"@[^\s@]+$/.test(text),
}

/** A day of the calendar: `Date.parse` takes 30 February for 2 March. */
const isDay = (text: string): boolean => {
  const day = text.slice(0, 10)
  const time = Date.parse(day)
  return yearIsSane(text) && !Number.isNaN(time) && new Date(time).toISOString().startsWith(day)
}

/** PostgreSQL has no year 0; nobody schedules mail after 9999. */
const yearIsSane = (text: string): boolean => !text.startsWith('0000')

const ajv = new Ajv({
  formats,
  keywords: ['x-component', 'x-sensitive', 'x-too-many', 'x-too-long'],
  allErrors: false,
  strict: true,
  allowUnionTypes: true,
  verbose: true,
})

/**
 * An id is kept and compared as text in places: in pauses, in locks, in what the audit log vouches for. The database answers
 * in lower case, so it is read so too, wherever a contract takes one.
 */
ajv.addKeyword({
  keyword: 'x-lower-case',
  modifying: true,
  validate: (_: unknown, value: unknown, _schema: unknown, context?: DataValidationCxt) => {
    if (typeof value === 'string' && context) context.parentData[context.parentDataProperty] = value.toLowerCase()
    return true
  },
})

type Part = 'body' | 'query' | 'headers' | 'reply' | 'arguments'

/**
 * A function that throws a Refusal naming the first field that is wrong. A schema is compiled at its first use: all of them
 * at once would be a quarter of the time that a start takes, and most processes use few.
 */
export function validator(part: Part, schema: TSchema): (value: unknown) => void {
  let check: ValidateFunction | null = null
  return value => {
    check ??= ajv.compile(schema)
    if (check(value)) return
    const errors = check.errors ?? []
    throw refuse(codeOf(errors[0]), `${describe(part, errors)}.`)
  }
}

/** A list, an object or a text that is too long may have a refusal of its own. */
function codeOf(error: ErrorObject | undefined): RefusalCode {
  const beyond = (error?.parentSchema ?? {}) as { 'x-too-many'?: RefusalCode; 'x-too-long'?: RefusalCode }
  const many = beyond['x-too-many']
  const own = { maxItems: many, maxProperties: many, maxLength: beyond['x-too-long'] }
  return own[error?.keyword as keyof typeof own] ?? 'invalid_request'
}

interface TextSchema {
  properties?: Record<string, { type?: string }>
}

/**
 * Query and header values as their schema wants them. What does not convert stays text, for the validator to refuse.
 */
export function fromText(schema: TSchema, texts: Record<string, unknown>): Record<string, unknown> {
  const { properties = {} } = schema as TextSchema
  const values: Record<string, unknown> = {}
  for (const [name, text] of Object.entries(texts)) {
    if (typeof text === 'string' && text.includes('\0'))
      throw refuse('invalid_request', `${name} contains a NUL character.`)
    values[name] = typeof text === 'string' ? convert(properties[name]?.type, text) : text
  }
  return values
}

function convert(type: string | undefined, text: string): unknown {
  if (type === 'integer' && /^-?\d{1,20}$/.test(text)) return Number(text)
  if (type === 'number' && /^-?\d{1,20}(\.\d{1,20})?$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

const PATH_CHARS_MAX = 1_000

function describe(part: Part, errors: readonly ErrorObject[]): string {
  const error = errors[0]
  if (!error) return `${part} is invalid`
  const field = fieldOf(error)
  switch (error.keyword) {
    case 'required':
      return `${field} is required`
    case 'enum':
      return `${field} must be one of ${(error.params['allowedValues'] as unknown[]).map(String).join(', ')}`
    case 'format':
      return `${field} must be a valid ${String(error.params['format'])}`
    case 'pattern':
      return error.params['pattern'] === '\\S' ? `${field} must not be blank` : `${field} has the wrong form`
    case 'minLength':
      return `${field} must not be empty`
    case 'maxLength':
      return `${field} must have at most ${String(error.params['limit'])} characters`
    case 'maxItems':
      return `${field} must have at most ${String(error.params['limit'])} items`
    case 'maxProperties':
      return `${field} must have at most ${String(error.params['limit'])} fields`
    case 'type':
      return `${field} must be ${[error.params['type']].flat().join(' or ').replace(',', ' or ')}`
    default:
      return `${field} ${error.message ?? 'is invalid'}`
  }

  function fieldOf({ instancePath, keyword, params }: ErrorObject): string {
    // A step may be a name that the caller chose.
    const steps = instancePath.slice(0, PATH_CHARS_MAX).split('/').slice(1)
    if (keyword === 'required') steps.push(String(params['missingProperty']))
    const path = steps
      .map(step => step.slice(0, NAME_CHARS_SHOWN))
      .reduce((before, step) => (/^\d+$/.test(step) ? `${before}[${step}]` : `${before}.${step}`), '')
    return path === '' ? `The ${part}` : path.replace(/^\./, '')
  }
}
