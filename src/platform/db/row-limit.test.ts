// The limit of rows that a transaction takes on.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RowLimit } from './row-limit.ts'

test('a limit of rows shrinks by what is slow or fails, to a hundred at the least, and grows again without work', async () => {
  const limit = new RowLimit({ min: 100, max: 4_000 })
  const fails = () => limit.learn(() => Promise.reject(new Error('too much')))
  for (const max of [1_000, 250, 100, 100]) {
    await assert.rejects(fails())
    assert.equal(limit.max, max)
  }

  limit.recover()
  assert.equal(limit.max, 200)
  await limit.learn(async () => {})
  assert.equal(limit.max, 400)
  for (let n = 0; n < 10; n++) limit.recover()
  assert.equal(limit.max, 4_000)
})
