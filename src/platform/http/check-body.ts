// From the bytes of a body to the value that a handler gets: parsed, without the fields that the contract does not know,
// and checked against its schema. Runs on the main thread for small bodies and in a thread of its own for large ones.
import type { TSchema } from 'typebox'
import { dropUnknownFields } from './body-fields.ts'
import { parseJsonBody } from './json-body.ts'
import type { RefusalCode } from '../refusal.ts'
import { validator } from './validate.ts'

export interface CheckedBody {
  /** Undefined where none was sent. */
  value: unknown
  /** Paths of fields that the contract does not know. */
  ignored: string[]
}

export type BodyCheck = (bytes: Buffer) => CheckedBody

export function bodyCheck(schema: TSchema, textRefusal: RefusalCode | undefined): BodyCheck {
  const check = validator('body', schema)
  return bytes => {
    if (bytes.length === 0) return { value: undefined, ignored: [] }
    const value = parseJsonBody(bytes, textRefusal)
    const ignored = dropUnknownFields(schema, value)
    check(value)
    return { value, ignored }
  }
}
