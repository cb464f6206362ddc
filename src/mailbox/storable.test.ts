import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { storableJson, storableText } from './storable.ts'
import { anyText } from '../../test/support/any-text.ts'

test('in JSON every string is what it is as text, whatever it holds', () => {
  for (const text of [
    '',
    'plain',
    'a\0b',
    '\ud83d alone',
    'alone \ude00',
    '\ud83d\ude00',
    String.raw`\u0000`,
    '\u0001',
  ]) {
    assert.deepEqual(JSON.parse(storableJson([{ text }])), [{ text: storableText(text) }], JSON.stringify(text))
  }
  fc.assert(
    fc.property(fc.array(anyText()), texts => {
      assert.deepEqual(JSON.parse(storableJson(texts)), texts.map(storableText))
    }),
  )
})
