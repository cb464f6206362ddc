// Signing threads.
import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, randomBytes, verify } from 'node:crypto'
import { test } from 'node:test'
import { Signers } from './signers.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const publicKey = createPublicKey(privateKey)

test('many signatures at once are each of their own data', async () => {
  const signers = new Signers(2)
  const texts = Array.from({ length: 20 }, () => randomBytes(200))
  const signatures = await Promise.all(texts.map(text => signers.sign(text, privateKey)))
  assert.ok(texts.every((text, index) => verify('sha256', text, publicKey, signatures[index]!)))
  await signers.close()
})

test('a key that cannot sign fails its own call and no other', async () => {
  const signers = new Signers(1)
  await assert.rejects(signers.sign(Buffer.from('x'), publicKey))
  assert.equal((await signers.sign(Buffer.from('x'), privateKey)).length, 256)
  await signers.close()
  await assert.rejects(signers.sign(Buffer.from('x'), privateKey), /closed/)
})
