import assert from 'node:assert/strict'
import { checkPrimeSync, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import test, { before } from 'node:test'
import { useRealPrimes } from '../../../test/support/primes.ts'
import { generateRsaKey } from './rsa-key.ts'

let keys: KeyObject[]

before(async () => {
  const end = useRealPrimes()
  keys = await Promise.all(Array.from({ length: 12 }, generateRsaKey))
  end()
})

test('a key has 2048 bits and the usual exponent, and its signatures verify with its public half', () => {
  for (const key of keys) {
    assert.equal(key.asymmetricKeyDetails?.modulusLength, 2048)
    assert.equal(key.asymmetricKeyDetails?.publicExponent, 65_537n)
    const data = Buffer.from('from:a@acme.example')
    assert(verify('sha256', data, createPublicKey(key), sign('sha256', data, key)))
  }
})

// OpenSSL would sign with a wrong part too, by the long way round: that it verifies does not show that the parts are right.
test('the parts of a key are what RFC 8017 §3.2 says of them', () => {
  for (const key of keys) {
    const [version, n, e, d, p, q, dp, dq, qInverse, r, dr, rInverse] = integersOf(key) as [
      ...[bigint, bigint, bigint, bigint, bigint, bigint],
      ...[bigint, bigint, bigint, bigint, bigint, bigint],
    ]
    assert.equal(version, 1n)
    assert.equal(p * q * r, n)
    for (const prime of [p, q, r]) {
      assert(checkPrimeSync(prime))
      assert.equal((e * d) % (prime - 1n), 1n)
      assert(prime > 1n << 681n)
    }
    assert.deepEqual([dp, dq, dr], [d % (p - 1n), d % (q - 1n), d % (r - 1n)])
    assert.equal((q * qInverse) % p, 1n)
    assert.equal((p * q * rInverse) % r, 1n)
    assert(p > q && q > r)
  }
})

test('a key survives being written as PKCS #8 and read again', () => {
  for (const key of keys) {
    const again = createPrivateKey(key.export({ type: 'pkcs8', format: 'pem' }))
    assert.deepEqual(integersOf(again), integersOf(key))
  }
})

test('no two keys share a prime', () => {
  const primes = keys.flatMap(key => [4, 5, 9].map(index => integersOf(key)[index]))
  assert.equal(new Set(primes).size, keys.length * 3)
})

/** Every INTEGER of the key in order, whatever SEQUENCE it stands in. */
function integersOf(key: KeyObject): bigint[] {
  const der = key.export({ type: 'pkcs1', format: 'der' })
  const integers: bigint[] = []
  for (let at = 0; at < der.length;) {
    const tag = der[at]!
    const sizeBytes = der[at + 1]! < 0x80 ? 0 : der[at + 1]! & 0x7f
    const size = sizeBytes === 0 ? der[at + 1]! : der.readUIntBE(at + 2, sizeBytes)
    at += 2 + sizeBytes
    if (tag === 0x30) continue
    assert.equal(tag, 0x02)
    integers.push(BigInt(`0x${der.toString('hex', at, at + size)}`))
    at += size
  }
  return integers
}
