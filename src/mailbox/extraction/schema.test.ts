// Callers' schemas and models' answers, in a thread.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { checkInThread, schemaText } from '../../platform/http/large-bodies.ts'
import { Type } from '../../platform/http/type.ts'
import { Refusal } from '../../platform/refusal.ts'
import { ThreadPool } from '../../platform/threads/thread-pool.ts'
import { MimeReader } from '../inbound/mime-reader.ts'
import { SchemaChecker } from './schema.ts'

const threads = new ThreadPool()
const schemas = new SchemaChecker(threads)
after(() => threads.close())

const order = {
  type: 'object',
  properties: { number: { type: 'string' }, lines: { type: 'array', items: { $ref: '#/$defs/line' } } },
  required: ['number'],
  $defs: { line: { type: 'object', properties: { price: { type: 'number' } }, additionalProperties: false } },
}

const validate = (answer: string, schema: object = order) => schemas.validate(JSON.stringify(schema), answer, 'account')

async function refusalOf(schema: Record<string, unknown>): Promise<Refusal> {
  const refusal = await schemas.check(schema, 'account').catch((error: unknown) => error)
  assert.ok(refusal instanceof Refusal, `${JSON.stringify(schema).slice(0, 100)} was not refused`)
  return refusal
}

test('a schema of each draft is taken, and comes back as JSON', async () => {
  const drafts = [
    'https://json-schema.org/draft/2020-12/schema',
    'https://json-schema.org/draft/2019-09/schema',
    'http://json-schema.org/draft-07/schema#',
  ]
  for (const $schema of drafts)
    assert.equal(JSON.parse(await schemas.check({ $schema, ...order }, 'a')).$schema, $schema)
  assert.deepEqual(JSON.parse(await schemas.check(order, 'a')), order)
  assert.equal(await schemas.check({}, 'a'), '{}')
})

test('schemas know nothing of those that were checked before them', async () => {
  const byPath = (type: string) => ({ $ref: '#/$defs/it', $defs: { it: { type } } })
  const byName = (type: string) => ({
    $id: 'https://a.example/same',
    $ref: '#it',
    $defs: { it: { $anchor: 'it', type } },
  })
  for (const make of [byPath, byName]) {
    for (const type of ['string', 'number', 'string']) {
      const kinds = [await validate('"a"', make(type)), await validate('1', make(type))].map(({ kind }) => kind)
      assert.deepEqual(kinds, type === 'string' ? ['valid', 'invalid'] : ['invalid', 'valid'])
    }
  }
  await assert.rejects(schemas.check({ $ref: '#/$defs/it' }, 'a'), /not valid JSON Schema/)
})

test('what is no JSON Schema is refused with a reason', async () => {
  const bad: [Record<string, unknown>, RegExp][] = [
    [{ type: 'text' }, /not valid JSON Schema/],
    [{ properties: [] }, /not valid JSON Schema/],
    [{ pattern: '(' }, /not valid JSON Schema/],
    [{ $ref: '#/$defs/none' }, /not valid JSON Schema/],
    [{ $schema: 'http://json-schema.org/draft-04/schema#' }, /\$schema that is not known/],
    [{ $schema: 5 }, /\$schema that is not known/],
    [{ $async: true }, /\$async/],
    [{ $id: 'https://json-schema.org/draft/2020-12/schema' }, /not valid JSON Schema/],
  ]
  for (const [schema, reason] of bad) {
    const refusal = await refusalOf(schema)
    assert.equal(refusal.code, 'invalid_request')
    assert.match(refusal.message, reason)
  }
})

test('a reference to another place is refused, wherever it stands', async () => {
  for (const ref of ['http://127.0.0.1:1/schema', 'file:///etc/passwd', 'other.json', '//host/a', ''])
    assert.match((await refusalOf({ properties: { a: { items: { $ref: ref } } } })).message, /begins with #/, ref)
  assert.match((await refusalOf({ $dynamicRef: 'https://x.example/' })).message, /begins with #/)
  assert.equal(await schemas.check({ properties: { $ref: { type: 'string' } } }, 'a').then(() => 'taken'), 'taken')
})

test('64 KB and 20 levels are taken, and not more', async () => {
  const ofBytes = (bytes: number) => ({ title: 'x'.repeat(bytes - '{"title":""}'.length) })
  const ofLevels = (levels: number): Record<string, unknown> =>
    levels === 1 ? {} : { additionalProperties: ofLevels(levels - 1) }
  await schemas.check(ofBytes(65_536), 'a')
  assert.match((await refusalOf(ofBytes(65_537))).message, /at most 64 KB/)
  await schemas.check(ofLevels(20), 'a')
  assert.match((await refusalOf(ofLevels(21))).message, /at most 20 levels/)
})

test('references that lead back to themselves end, before a model is asked where that can be seen', async () => {
  for (const schema of [
    { $ref: '#' },
    { allOf: [{ $ref: '#' }] },
    { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } },
  ])
    assert.match((await refusalOf(schema)).message, /lead back to themselves/)
  const hidden = { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } } }
  await assert.rejects(validate('{"a":1}', hidden), /lead back to themselves/)
  const tree = { type: 'object', properties: { child: { $ref: '#' } } }
  assert.deepEqual(await validate('{"child":{"child":{}}}', tree), { kind: 'valid', data: { child: { child: {} } } })
})

test('a pattern that takes for ever costs a thread its time, and the next schema is checked', async () => {
  const schema = { type: 'string', pattern: '^(a+)+$' }
  const schemaText = await schemas.check(schema, 'account')
  const hasty = new SchemaChecker(threads, { timeoutMs: 300 })
  const answer = JSON.stringify(`${'a'.repeat(60)}!`)
  await assert.rejects(hasty.validate(schemaText, answer, 'account'), (refusal: Refusal) => {
    assert.equal(refusal.code, 'invalid_request')
    assert.match(refusal.message, /takes too long/)
    return true
  })
  assert.equal((await validate('{"number":"1"}')).kind, 'valid')
})

test('a schema that doubles its work at each step is refused before a model is asked', async () => {
  const steps = Array.from({ length: 40 }, (_, n) => [`s${n}`, { allOf: [`s${n + 1}`, `s${n + 1}`].map(refTo) }])
  const schema = { ...refTo('s0'), $defs: { ...Object.fromEntries(steps), s40: { type: 'string' } } }
  const hasty = new SchemaChecker(threads, { timeoutMs: 300 })
  await assert.rejects(hasty.check(schema, 'account'), /takes too long/)
})

test('while patterns keep every thread busy, a body and a mail of another account are read', async t => {
  const busy = new ThreadPool()
  t.after(() => busy.close())
  const checker = new SchemaChecker(busy, { timeoutMs: 20_000 })
  const schema = JSON.stringify({ type: 'string', pattern: '^(a+)+$' })
  const answer = JSON.stringify(`${'a'.repeat(40)}b`)
  let refused = 0
  const slow = ['one', 'one', 'two', 'two'].map(owner =>
    checker.validate(schema, answer, owner).catch(() => void (refused += 1)),
  )
  const text = 'x'.repeat(300_000)
  const body = Buffer.from(JSON.stringify({ text }))
  const whose = { owner: 'three', tenant: '' }
  const options = { schema: schemaText(Type.Object({ text: Type.String() })), textRefusal: undefined, ...whose }

  assert.deepEqual((await checkInThread(busy, body, options)).value, { text })
  const mail = await new MimeReader(busy).readMessage(Buffer.from('Subject: Hello\r\n\r\nHello\r\n'), 'four')
  assert.equal(mail.kind, 'message')

  assert.equal(refused, 0, 'they still run')
  await busy.close()
  await Promise.all(slow)
})

const refTo = (name: string) => ({ $ref: `#/$defs/${name}` })

test('an answer matches, also in a code fence or behind thoughts', async () => {
  const data = { number: 'A-1', lines: [{ price: 1.5 }] }
  const json = JSON.stringify(data)
  for (const answer of [json, ` \n${json}\n`, `\`\`\`json\n${json}\n\`\`\``, `<think>hm {}</think>\n${json}`])
    assert.deepEqual(await validate(answer), { kind: 'valid', data })
})

test('an answer that is no JSON, or does not match, says what is wrong', async () => {
  const wrong: [string, RegExp][] = [
    ['', /not valid JSON/],
    ['Sure! {"number":"1"}', /not valid JSON/],
    ['{"number":"1"', /not valid JSON/],
    ['{}', /must have required property 'number'/],
    ['{"number":1}', /\/number must be string/],
    ['{"number":"1","lines":[{"price":"2"}]}', /\/lines\/0\/price must be number/],
    ['{"number":"1","lines":[{"other":2}]}', /additional properties.*other/],
    ['{"number":"\\u0000"}', /NUL/],
    ['{"number":"\\ud800"}', /surrogate/],
    ['{"number":"1","__proto__":{}}', /reserved/],
    [`{"number":"1","x":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, /nested deeper/],
    [JSON.stringify({ number: 'x'.repeat(300_000) }), /more than 256 KB/],
    ['{"number":"1","lines":[{"price":1e999}]}', /\/lines\/0\/price must be number/],
  ]
  for (const [answer, reason] of wrong) {
    const checked = await validate(answer)
    assert.equal(checked.kind, 'invalid', answer.slice(0, 100))
    assert.match((checked as { errors: string[] }).errors.join('\n'), reason)
  }
})

test('as many errors as there may be are ten', async () => {
  const answer = JSON.stringify(Array.from({ length: 1_000 }, () => 'x'.repeat(100)))
  const checked = (await validate(answer, { items: { enum: [1] } })) as { errors: string[] }
  assert.equal(checked.errors.length, 10)
  assert.ok(checked.errors.every(error => error.length <= 300))
})
