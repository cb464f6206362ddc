// Integers of any size in a reply. JSON has no limit; a JavaScript number rounds beyond 2^53, so a larger one is written
// digit by digit. Who reads it with a parser of doubles gets the nearest, everybody else the exact one.
import assert from 'node:assert/strict'
import { Type } from './type.ts'

/** A whole number that is not negative, without an upper bound. */
export const ExactInteger = (options: object = {}) => Type.Integer({ minimum: 0, ...options })

/** Not yet in the language's own types (ECMAScript proposal "JSON.parse source text access"). */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): number }

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER)

/** Typed as a number, because that is what it is in the reply; nothing may be computed with it. */
export function exactInteger(value: bigint): number {
  assert(value >= 0n, 'amounts and counts are not negative')
  return value <= SAFE_MAX ? Number(value) : rawJSON(value.toString())
}
