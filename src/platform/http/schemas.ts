// Schema pieces that many contracts share, so that a limit or a wording is said once.
import type { Static, TProperties, TSchema } from 'typebox'
import { Type } from './type.ts'

/** Ids beyond 2^53 cannot be carried by a JSON number; they are refused rather than rounded. */
export const Int64 = (options: object = {}) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, ...options })

export const Uuid = (options: object = {}) => Type.String({ format: 'uuid', 'x-lower-case': true, ...options })

export const DateTime = (options: object = {}) => Type.String({ format: 'date-time', ...options })

/** Text with at least one visible character. */
export const Name = (maxLength: number, options: object = {}) =>
  Type.String({ minLength: 1, maxLength, pattern: '\\S', ...options })

/** `null` beside the type itself, in the form that OpenAPI 3.1 and our error messages both read well. */
export function Nullable<S extends TSchema>(schema: S) {
  const plain = schema as TSchema & { type?: string; enum?: unknown[] }
  const json = plain.enum
    ? { ...plain, enum: [...plain.enum, null] }
    : plain.type
      ? { ...plain, type: [plain.type, 'null'] }
      : { anyOf: [plain, { type: 'null' }] }
  return Type.Unsafe<Static<S> | null>(json)
}

/** Gives the schema a name in the OpenAPI document; without one it stands where it is used. */
export const component = <S extends TSchema>(name: string, schema: S): S =>
  Object.assign(schema, { 'x-component': name })

export const NamedObject = <Properties extends TProperties>(name: string, properties: Properties) =>
  component(name, Type.Object(properties))

/** Marks a value that is never logged. */
export const sensitive = { 'x-sensitive': true } as const

export const Limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 500, default: 100, description: 'Rows per page' }),
)
export const Cursor = Type.Optional(
  Type.String({ minLength: 1, maxLength: 2000, description: 'next_cursor of the page before' }),
)
/** Any int64; there are no ids beyond 2^53, so that larger ones mean "from the newest". */
export const BeforeId = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 2 ** 63, description: 'Only ids below this one' }),
)
export const idBefore = (given: number | undefined): number | null =>
  given === undefined ? null : Math.min(given, Number.MAX_SAFE_INTEGER)
export const NextCursor = Nullable(Type.String({ description: 'Cursor of the next page, null on the last' }))

/** The query of a list that is read page by page, and what one page of it answers. */
export const PageQuery = <Filters extends TProperties>(filters: Filters) =>
  Type.Object({ ...filters, cursor: Cursor, limit: Limit })
export const Page = <Rows extends TProperties>(rows: Rows) => Type.Object({ ...rows, next_cursor: NextCursor })

export const Cidrs = Type.Array(Type.String({ format: 'cidr' }), { maxItems: 100 })

export const LIMIT_DEFAULT = 100

export const ErrorBody = NamedObject('Error', {
  error: Type.Object({ code: Type.String(), message: Type.String() }),
})
