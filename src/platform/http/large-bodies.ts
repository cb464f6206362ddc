// Parsing and checking large bodies off the main thread: 40 MB of JSON take a fifth of a second at best, and a body can be
// made to take much longer.
import type { TSchema } from 'typebox'
import { refuse, type RefusalCode } from '../refusal.ts'
import { ThreadFailure, type ThreadPool, type ThreadWork } from '../threads/thread-pool.ts'
import type { CheckedBody } from './check-body.ts'
import type { LargeBody, LargeBodyAnswer } from './json-thread.ts'

/** Smaller ones take a few milliseconds where they are. */
export const LARGE_BODY_BYTES = 256 * 1024

const PARSING: ThreadWork = {
  module: new URL('./json-thread.ts', import.meta.url),
  isAwaited: true,
  queueMax: 200,
  timeoutMs: 10_000,
}

/** The bytes are given away. */
export async function checkInThread(
  threads: ThreadPool,
  bytes: Buffer,
  { schema, textRefusal, owner, tenant }: LargeBodyOptions,
): Promise<CheckedBody> {
  try {
    const answer = await threads.run<LargeBody, LargeBodyAnswer>(PARSING, {
      input: { bytes, schema, textRefusal },
      owner,
      part: tenant,
      bytes: bytes.length,
      transfer: [bytes.buffer as ArrayBuffer],
    })
    if ('checked' in answer) return answer.checked
    throw refuse(answer.refusal.code, answer.refusal.message)
  } catch (error) {
    throw error instanceof ThreadFailure ? refusalOf(error) : error
  }
}

interface LargeBodyOptions {
  /** As text, for the thread. */
  schema: string
  textRefusal: RefusalCode | undefined
  /** Whose share of the threads it takes. */
  owner: string
  tenant: string
}

/** The schema of a contract as the thread gets it. */
export const schemaText = (schema: TSchema): string => JSON.stringify(schema)

const refusalOf = (failure: ThreadFailure) =>
  failure.reason === 'timeout' || failure.reason === 'out_of_memory'
    ? refuse('invalid_json', 'The body takes too much to read. Send it in smaller pieces.', { cause: failure })
    : refuse('unavailable', 'Too many large bodies are being read. Try again shortly.', {
        retryAfterSeconds: 2,
        cause: failure,
      })
