// In a thread: compiles a caller's JSON Schema, and checks the answer of a model against it.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parseJsonBody } from '../../platform/http/json-body.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { Work } from '../../platform/threads/thread-start.ts'

export interface SchemaOrder {
  /** JSON. */
  schemaText: string
  /** Null: only the schema is checked. */
  answer: string | null
}

export type Checked =
  | { kind: 'schema' }
  | { kind: 'bad_schema'; reason: string }
  | { kind: 'valid'; data: unknown }
  | { kind: 'invalid'; errors: string[] }

/** A model that writes more than this has misunderstood; it is kept with the message and shown in lists. */
const ANSWER_BYTES_MAX = 256 * 1024
const ERRORS_MAX = 10
const ERROR_CHARS_MAX = 300

export const work: Work<SchemaOrder, Checked> = ({ schemaText, answer }) => ({
  output: check(schemaText, answer),
  bytes: schemaText.length + (answer?.length ?? 0),
})

function check(schemaText: string, answer: string | null): Checked {
  const compiled = compile(schemaText)
  if (typeof compiled === 'string') return { kind: 'bad_schema', reason: compiled }
  try {
    if (answer === null) {
      for (const sample of [null, {}, [], '', 0, true]) compiled(sample)
      return { kind: 'schema' }
    }
    const data = readJson(answer)
    if ('error' in data) return { kind: 'invalid', errors: [data.error] }
    if (compiled(data.value)) return { kind: 'valid', data: data.value }
    return { kind: 'invalid', errors: (compiled.errors ?? []).slice(0, ERRORS_MAX).map(describe) }
  } catch (error) {
    // The stack is all that ends a reference which leads back to itself.
    if (error instanceof RangeError) return { kind: 'bad_schema', reason: ENDLESS }
    throw error
  }
}

const ENDLESS = 'has references that lead back to themselves'

const OPTIONS = {
  // Keywords that are not known mean nothing, as the standard has it.
  strict: false,
  allErrors: true,
  // There are as many notions of a format as libraries, and some take quadratic time.
  validateFormats: false,
  logger: false,
} as const

/** The check, or what is wrong with the schema. */
function compile(schemaText: string): ValidateFunction | string {
  const { $schema, ...schema } = JSON.parse(schemaText) as Record<string, unknown>
  const draft = draftOf($schema)
  if (!draft) return 'has a $schema that is not known: leave it out, or name 2020-12, 2019-09 or draft-07'
  if (hasRemoteReference(schema)) return 'must have references within itself only: each $ref begins with #'
  // A word of the library's: the check would answer later, and anything would pass.
  if ('$async' in schema) return 'has the keyword $async, which is not JSON Schema'
  const checker = checkerFor(draft, schemaText)
  try {
    return checker.compile(schema)
  } catch (error) {
    if (error instanceof RangeError) return ENDLESS
    const reason = (error as Error).message.replace(/\s+/g, ' ').slice(0, ERROR_CHARS_MAX).toWellFormed()
    return `is not valid JSON Schema: ${reason}`
  } finally {
    checker.removeSchema(schema)
  }
}

type Draft = '2020-12' | '2019-09' | 'draft-07'

const DRAFT = /^https?:\/\/json-schema\.org\/(?:draft\/)?(2020-12|2019-09|draft-07)\/schema#?$/

function draftOf($schema: unknown): Draft | null {
  if ($schema === undefined) return '2020-12'
  const name = typeof $schema === 'string' ? DRAFT.exec($schema)?.[1] : undefined
  return (name as Draft | undefined) ?? null
}

function makeChecker(draft: Draft): Ajv {
  if (draft === 'draft-07') return new Ajv(OPTIONS)
  return draft === '2019-09' ? new Ajv2019(OPTIONS) : new Ajv2020(OPTIONS)
}

/** A checker has to compile the schema of schemas first, which takes ten times as long as a small schema does. */
const kept = new Map<Draft, { checker: Ajv; bytes: number }>()
/** It does not forget all of what it has compiled, some kilobytes even of the smallest, so it is replaced now and then. */
const KEPT_BYTES_MAX = 512 * 1024
const KEPT_BYTES_MIN = 4 * 1024

/** Names that a schema gives to its parts stay with the checker, and the next caller's might be the same. */
const NAMES = /"\$(?:id|anchor|dynamicAnchor|recursiveAnchor)"/

function checkerFor(draft: Draft, schemaText: string): Ajv {
  if (NAMES.test(schemaText)) return makeChecker(draft)
  let known = kept.get(draft)
  if (!known || known.bytes > KEPT_BYTES_MAX) {
    known = { checker: makeChecker(draft), bytes: 0 }
    kept.set(draft, known)
  }
  known.bytes += KEPT_BYTES_MIN + schemaText.length
  return known.checker
}

const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef']

/** The schema is bounded in depth, so is this. */
function hasRemoteReference(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([name, each]) =>
      (REFERENCES.includes(name) && typeof each === 'string' && !each.startsWith('#')) || hasRemoteReference(each),
  )
}

/** JSON as it is stored and answered. Models put it into a code fence now and then, or think aloud before it. */
function readJson(answer: string): { value: unknown } | { error: string } {
  const bytes = Buffer.from(bare(answer))
  if (bytes.length > ANSWER_BYTES_MAX) return { error: `The answer has more than ${ANSWER_BYTES_MAX / 1024} KB.` }
  try {
    // Numbers beyond all bounds become null when they are written, so that is what is checked.
    return { value: JSON.parse(JSON.stringify(parseJsonBody(bytes))) }
  } catch (error) {
    if (error instanceof Refusal) return { error: error.message.replace('The body', 'The answer') }
    throw error
  }
}

function bare(answer: string): string {
  let text = answer.trim()
  const thoughtEnd = text.startsWith('<think>') ? text.indexOf('</think>') : -1
  if (thoughtEnd !== -1) text = text.slice(thoughtEnd + '</think>'.length).trim()
  if (!text.startsWith('```') || !text.endsWith('```') || text.length < 6) return text
  const firstLine = text.indexOf('\n')
  return firstLine === -1 ? text : text.slice(firstLine + 1, -3).trim()
}

const describe = ({ instancePath, message = 'is wrong', params }: ErrorObject): string =>
  `${instancePath || 'The value'} ${message} ${JSON.stringify(params)}`.slice(0, ERROR_CHARS_MAX).toWellFormed()
