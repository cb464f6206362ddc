// Many recipients in several transactions: what one of them fails at says nothing about those before it.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Envelope } from './outcome.ts'
import { inParts } from './send-results.ts'
import type { SendResult } from './outcome.ts'

const DELIVERED = { kind: 'delivered' } as SendResult
const envelope = (count: number): Envelope =>
  ({ recipients: Array.from({ length: count }, (_, n) => `u${n}@example.com`) }) as unknown as Envelope

test('where the second of three parts cannot be begun, the first stays delivered and the rest is withheld', async () => {
  let parts = 0
  const results = await inParts(envelope(250), async ({ recipients }) => {
    parts += 1
    if (parts === 2) throw new Error('the database is away')
    return recipients.map(() => DELIVERED)
  })
  assert.equal(parts, 2)
  assert.equal(results.length, 250)
  assert.ok(results.every(({ kind }, at) => kind === (at < 100 ? 'delivered' : 'withheld')))
})

test('where the first cannot be begun, nothing is known', async () => {
  await assert.rejects(
    inParts(envelope(250), async () => {
      throw new Error('the database is away')
    }),
    /away/,
  )
})
