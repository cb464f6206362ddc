// Sealing, cursors and keys.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintApiKey, parseApiKey, sameBytes, Secrets } from './secrets.ts'

const secrets = new Secrets('a root key of at least thirty-two characters')

test('a sealed value opens in its own row only, and not when it was touched', () => {
  const sealed = secrets.seal('domains/1/dkim', 'private key')
  assert.equal(secrets.open('domains/1/dkim', sealed), 'private key')
  assert.ok(!sealed.includes('private key'))
  assert.throws(() => secrets.open('domains/2/dkim', sealed))
  const touched = sealed.slice(0, -2) + (sealed.endsWith('AA') ? 'BB' : 'AA')
  assert.throws(() => secrets.open('domains/1/dkim', touched))
  assert.notEqual(secrets.seal('domains/1/dkim', 'private key'), sealed, 'each sealing has its own nonce')
})

test('a value sealed with another SECRET_KEY says so', () => {
  const sealed = new Secrets('another root key, also long enough for this').seal('row', 'text')
  assert.throws(() => secrets.open('row', sealed), /another SECRET_KEY/)
})

test('a key of one purpose is not the key of another', () => {
  assert.ok(!secrets.derive('seal').equals(secrets.derive('cursor')))
})

test('a cursor is read by the list that gave it out, unchanged', () => {
  const cursor = secrets.signCursor('tenants', { id: 7 })
  assert.deepEqual(secrets.readCursor('tenants', cursor), { id: 7 })
  assert.equal(secrets.readCursor('messages', cursor), null)
  for (let index = 0; index < cursor.length; index++) {
    const changed = cursor.slice(0, index) + (cursor[index] === 'x' ? 'y' : 'x') + cursor.slice(index + 1)
    assert.equal(secrets.readCursor('tenants', changed), null, changed)
  }
})

test('a thousand keys parse back to what is stored of them, and none is like another', () => {
  const seen = new Set<string>()
  for (let n = 0; n < 1000; n++) {
    const { prefix, bearer, secretHash } = mintApiKey()
    const parsed = parseApiKey(bearer)
    assert.equal(parsed?.prefix, prefix)
    assert.ok(sameBytes(parsed.secretHash, secretHash))
    seen.add(prefix)
  }
  assert.equal(seen.size, 1000)
})
