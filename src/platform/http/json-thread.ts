// Parses and checks large bodies, in a thread. The contract's schema comes with each body, as text, and is
// compiled once.
import { Refusal, type RefusalCode } from '../refusal.ts'
import type { Work } from '../threads/thread-start.ts'
import { asBuffer } from '../threads/thread-pool.ts'
import { bodyCheck, type BodyCheck, type CheckedBody } from './check-body.ts'

export interface LargeBody {
  bytes: Uint8Array
  schema: string
  textRefusal: RefusalCode | undefined
}

export type LargeBodyAnswer = { checked: CheckedBody } | { refusal: { code: RefusalCode; message: string } }

const checks = new Map<string, BodyCheck>()

function answer({ bytes, schema, textRefusal }: LargeBody): LargeBodyAnswer {
  const key = `${textRefusal} ${schema}`
  const check = checks.get(key) ?? bodyCheck(JSON.parse(schema), textRefusal)
  checks.set(key, check)
  try {
    return { checked: check(asBuffer(bytes)) }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: { code: error.code, message: error.message } }
    throw error
  }
}

export const work: Work<LargeBody, LargeBodyAnswer> = body => {
  const bytes = body.bytes.byteLength
  return { output: answer(body), bytes }
}
