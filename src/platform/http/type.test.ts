// The schemas of contracts are those that TypeBox would build, of whose types they are.
import assert from 'node:assert/strict'
import test from 'node:test'
import Library from 'typebox'
import { Type } from './type.ts'

const inform = { description: 'What it is' }

/** Every builder, with options and without. */
const build = (builders: typeof Type) => [
  builders.Array(builders.String(), inform),
  builders.Boolean(inform),
  builders.Enum(['a', 'b'], inform),
  builders.Integer({ minimum: 1 }),
  builders.Literal('ok', inform),
  builders.Literal(true),
  builders.Literal(7),
  builders.Number(),
  builders.Object({}),
  builders.Object(
    { a: builders.Optional(builders.String(inform)), b: builders.Number(), c: builders.Optional(builders.Object({})) },
    { additionalProperties: false },
  ),
  builders.Partial(builders.Object({ a: builders.Number(), b: builders.String(inform) }, inform), { minProperties: 1 }),
  builders.Object({ ...builders.Partial(builders.Object({ a: builders.Number() })).properties, b: builders.Number() }),
  builders.Record(builders.String(), builders.Unknown(), { maxProperties: 9 }),
  builders.String({ format: 'uuid', ...inform }),
  builders.Union([builders.String(), builders.Number()], inform),
  builders.Unknown(inform),
  builders.Unsafe<string | null>({ type: ['string', 'null'] }),
]

test('a schema is written as TypeBox writes it, in the same order', () => {
  const [ours, theirs] = [Type, Library].map(builders => build(builders).map(schema => JSON.stringify(schema)))
  assert.deepEqual(ours, theirs)
})

test('what is made optional leaves the schema that it was made of as it is', () => {
  const name = Type.String()
  assert.deepEqual(Type.Object({ a: Type.Optional(name), b: name }).required, ['b'])
})
