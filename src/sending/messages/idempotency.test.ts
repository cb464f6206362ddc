import assert from 'node:assert/strict'
import test from 'node:test'
import { bodyHash } from './idempotency.ts'

function hashOf(body: Record<string, unknown>): { hash: string; steps: number } {
  const work = bodyHash(body)
  for (let steps = 1; ; steps++) {
    const { done, value } = work.next()
    if (done) return { hash: value.toString('hex'), steps }
  }
}

test('bodies are the same whatever the order of their fields, and without the key', () => {
  const one = { to: ['a@x.example'], headers: { b: '2', a: '1' }, idempotency_key: 'k' }
  const other = { headers: { a: '1', b: '2' }, to: ['a@x.example'] }
  assert.equal(hashOf(one).hash, hashOf(other).hash)
})

test('bodies that differ in a value, its kind or its place are not the same', () => {
  const bodies = [
    { a: 'x' },
    { a: ['x'] },
    { a: [['x']] },
    { a: { x: null } },
    { a: 'x', b: null },
    { a: null },
    { a: 'null' },
    { a: 1 },
    { a: '1' },
    { a: ['x', 'y'] },
    { a: ['y', 'x'] },
    { a: ['x,y'] },
    { a: 'y'.repeat(1_000_000) },
    { a: `${'y'.repeat(999_999)}x` },
    { a: `${'y'.repeat(262_143)}😀` },
    { a: `${'y'.repeat(262_143)}😁` },
  ]
  assert.equal(new Set(bodies.map(body => hashOf(body).hash)).size, bodies.length)
})

test('an attachment of 33 MB and a list of ten thousand are hashed in many short steps', () => {
  assert.ok(hashOf({ attachments: [{ content_base64: 'QUJD'.repeat(11_000_000) }] }).steps > 100)
  assert.ok(hashOf({ to: Array.from({ length: 10_000 }, (_, n) => `u${n}@x.example`) }).steps > 10)
})
