// Items of a batch that failed, each by itself.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unavailable } from './errors.ts'
import { isOwnFailure, separately } from './separately.ts'

const timedOut = () => unavailable(Object.assign(new Error('canceling statement'), { code: '57014' }))
const away = () => unavailable(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }))

const acting = (failures: Record<string, Error>) => async (item: string) => {
  if (failures[item]) throw failures[item]
  return item.toUpperCase()
}

test('one that fails, or that takes too long, keeps none of the others from being stored', async () => {
  const failures = { b: new Error('no'), d: timedOut() }
  const { results, stoppedBy } = await separately(['a', 'b', 'c', 'd', 'e'], acting(failures))
  assert.deepEqual(results, ['A', failures.b, 'C', failures.d, 'E'])
  assert.equal(stoppedBy, null)
})

test('while the database is away, or too slow for two in a row, the rest is not tried', async () => {
  const gone = { b: away() }
  assert.deepEqual(await separately(['a', 'b', 'c'], acting(gone)), { results: ['A'], stoppedBy: gone.b })
  const slow = { a: timedOut(), b: timedOut() }
  assert.deepEqual(await separately(['a', 'b', 'c'], acting(slow)), { results: [slow.a], stoppedBy: slow.b })
})

test('a batch is taken apart for what is its own doing', () => {
  assert.deepEqual([new Error('no'), timedOut(), away()].map(isOwnFailure), [true, true, false])
})
