// The caller's JSON Schema: bounded here, compiled and run in a thread, where a pattern that takes for ever costs the thread
// and nothing else.
import { refuse, type Refusal } from '../../platform/refusal.ts'
import { ThreadFailure, type ThreadPool, type ThreadWork } from '../../platform/threads/thread-pool.ts'
import type { Checked, SchemaOrder } from './schema-thread.ts'

export const SCHEMA_BYTES_MAX = 64 * 1024
export const SCHEMA_LEVELS_MAX = 20

/** More wait than an account has calls in flight, or an answer that was paid for would be lost. */
const CHECKS_WAITING_MAX = 8

const CHECKING: ThreadWork = {
  module: new URL('./schema-thread.ts', import.meta.url),
  queueMax: CHECKS_WAITING_MAX,
  timeoutMs: 5_000,
}

type CheckedAnswer = Extract<Checked, { kind: 'valid' | 'invalid' }>

export class SchemaChecker {
  readonly #threads: ThreadPool
  readonly #work: ThreadWork

  constructor(threads: ThreadPool, limits: Partial<Pick<ThreadWork, 'timeoutMs'>> = {}) {
    this.#threads = threads
    this.#work = { ...CHECKING, ...limits }
  }

  /** The schema as JSON, or a refusal that says what is wrong with it. */
  async check(schema: Record<string, unknown>, owner: string): Promise<string> {
    const schemaText = JSON.stringify(schema)
    if (Buffer.byteLength(schemaText) > SCHEMA_BYTES_MAX)
      throw badSchema(`must be at most ${SCHEMA_BYTES_MAX / 1024} KB of JSON`)
    boundLevels(schema)
    const { kind } = await this.#run({ schemaText, answer: null }, owner)
    if (kind !== 'schema') throw new Error(`a schema was checked as ${kind}`)
    return schemaText
  }

  /** Whether the answer of a model is JSON that matches. */
  async validate(schemaText: string, answer: string, owner: string): Promise<CheckedAnswer> {
    const checked = await this.#run({ schemaText, answer }, owner)
    if (checked.kind === 'schema') throw new Error('an answer was checked as a schema')
    return checked
  }

  async #run(input: SchemaOrder, owner: string): Promise<Exclude<Checked, { kind: 'bad_schema' }>> {
    const checked = await this.#threads
      .run<SchemaOrder, Checked>(this.#work, { input, owner })
      .catch((failure: unknown) => {
        throw failure instanceof ThreadFailure ? refusalOf(failure) : failure
      })
    if (checked.kind === 'bad_schema') throw badSchema(checked.reason)
    return checked
  }
}

function boundLevels(schema: Record<string, unknown>): void {
  let level: unknown[] = [schema]
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > SCHEMA_LEVELS_MAX) throw badSchema(`must be nested at most ${SCHEMA_LEVELS_MAX} levels deep`)
    level = level.flatMap(value =>
      Object.values(value as object).filter(each => typeof each === 'object' && each !== null),
    )
  }
}

const badSchema = (reason: string): Refusal => refuse('invalid_request', `schema ${reason}.`)

function refusalOf(failure: ThreadFailure): Refusal {
  if (failure.reason === 'timeout' || failure.reason === 'out_of_memory')
    return refuse('invalid_request', 'schema takes too long to check: look at its patterns and references.', {
      cause: failure,
    })
  return refuse('unavailable', 'The schema could not be checked now. Try again shortly.', {
    retryAfterSeconds: 5,
    cause: failure,
  })
}
