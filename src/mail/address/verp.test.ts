import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import test from 'node:test'
import * as fc from 'fast-check'
import { parseAddressOnly } from './address.ts'
import { decodeToken, encodeToken } from './verp.ts'

const key = createSecretKey(Buffer.alloc(32, 1))
const otherKey = createSecretKey(Buffer.alloc(32, 2))
const id = Buffer.from('0190a1b2c3d47e5f8a9bacbdcedf0011', 'hex')
const local = encodeToken({ kind: 'b', id, extra: 7 }, key)

const anyToken = fc
  .tuple(
    fc.constantFrom('a', 'b', 'c', 'z'),
    fc.uint8Array({ minLength: 16, maxLength: 16 }),
    fc.integer({ min: 0, max: 0xffffffff }),
  )
  .map(([kind, bytes, extra]) => ({ kind, id: Buffer.from(bytes), extra }))

test('a token comes back as it was, also when a receiver folded its case', () => {
  fc.assert(
    fc.property(anyToken, token => {
      const text = encodeToken(token, key)
      assert.deepEqual(decodeToken(text, key), token)
      assert.deepEqual(decodeToken(text.toUpperCase(), key), token)
    }),
  )
})

test('a token is a local part of 51 characters that needs no quoting', () => {
  assert.match(local, /^b-[a-z2-7]{32}-[a-z2-7]{16}$/)
  assert.equal(parseAddressOnly(`${local}@bounce.example.com`)?.local, local)
})

test('a change of any single character is noticed', () => {
  for (let at = 0; at < local.length; at++) {
    const changed = local.slice(0, at) + (local[at] === 'q' ? 'r' : 'q') + local.slice(at + 1)
    assert.equal(decodeToken(changed, key), null, changed)
  }
})

test('a token of another installation or another purpose is not ours', () => {
  assert.equal(decodeToken(local, otherKey), null)
  assert.equal(decodeToken(`c${local.slice(1)}`, key), null)
})

test('what is no token at all is not ours', () => {
  for (const text of [
    '',
    'b',
    'postmaster',
    'b--',
    `${local}x`,
    ` ${local}`,
    local.slice(0, -1),
    local.replace('-', '+'),
  ]) {
    assert.equal(decodeToken(text, key), null, text)
  }
  fc.assert(fc.property(fc.string(), text => assert.equal(decodeToken(text, key), null)))
})

test('a token cannot be made for what does not fit into it', () => {
  assert.throws(() => encodeToken({ kind: 'bb', id, extra: 0 }, key))
  assert.throws(() => encodeToken({ kind: 'B', id, extra: 0 }, key))
  assert.throws(() => encodeToken({ kind: 'b', id: id.subarray(1), extra: 0 }, key))
  assert.throws(() => encodeToken({ kind: 'b', id, extra: -1 }, key))
  assert.throws(() => encodeToken({ kind: 'b', id, extra: 2 ** 32 }, key))
})
