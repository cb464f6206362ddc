// What providers refuse, and how they are asked then.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dialectAfter, FIRST_DIALECT, isAboutSchema, requestBody } from './dialect.ts'

const question = {
  messages: [{ role: 'system' as const, content: 'Rules.' }],
  schemaText: '{"a":1}',
  outputTokensMax: 9,
}
const bodyOf = (dialect: typeof FIRST_DIALECT) => JSON.parse(requestBody('m', dialect, question))

test('a provider is first asked with a strict schema, which is not repeated in the prompt', () => {
  assert.deepEqual(bodyOf(FIRST_DIALECT), {
    model: 'm',
    messages: question.messages,
    response_format: { type: 'json_schema', json_schema: { name: 'extraction', strict: true, schema: { a: 1 } } },
    max_tokens: 9,
    temperature: 0,
    stream: false,
  })
})

test('without schemas the schema stands in the prompt', () => {
  const plain = bodyOf({ ...FIRST_DIALECT, format: 'json_object' })
  assert.deepEqual(plain.response_format, { type: 'json_object' })
  assert.equal(plain.messages[0].content, 'Rules.\nThe JSON Schema:\n{"a":1}')
  assert.equal('response_format' in bodyOf({ ...FIRST_DIALECT, format: 'none' }), false)
})

test('what is refused is left out step by step, and nothing else is', () => {
  const refused = (text: string, dialect = FIRST_DIALECT, status = 400) => dialectAfter(dialect, { status, text })
  assert.equal(refused("'response_format' of type 'json_schema' is not supported")?.format, 'json_object')
  assert.equal(refused('json_object is unknown', { ...FIRST_DIALECT, format: 'json_object' })?.format, 'none')
  assert.equal(refused('response_format', { ...FIRST_DIALECT, format: 'none' }), null)
  const newer = refused("'max_tokens' is not supported. Use 'max_completion_tokens' instead.")!
  assert.deepEqual(newer, { ...FIRST_DIALECT, limitField: 'max_completion_tokens' })
  assert.equal(refused('max_completion_tokens is too large', newer), null)
  assert.equal(refused("'temperature' does not support 0")?.hasTemperature, false)
  assert.equal(refused('The context is too long'), null)
  assert.equal(refused('response_format', FIRST_DIALECT, 500), null)
  assert.equal(refused('response_format', FIRST_DIALECT, 422)?.format, 'json_object')
})

test('a refusal of one schema is told from one of all schemas', () => {
  assert.ok(isAboutSchema("Invalid schema for response_format 'extraction': 'additionalProperties' is required"))
  assert.ok(!isAboutSchema("'response_format' of type 'json_schema' is not supported with this model."))
})
