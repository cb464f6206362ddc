// Which queues a worker remembers once nothing is under way for them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyQueues } from './key-queues.ts'

const IDLE_MAX = 10_000

function workedOff(queues: KeyQueues<object>, key: string): void {
  const queue = queues.of({ key, accountId: 'an account' })
  queues.put(queue, {})
  queue.waiting.pop()
  queues.noteEnd(queue)
}

test('of the keys that are idle the latest are remembered, and no more are looked at', () => {
  const queues = new KeyQueues<object>({ first: 1, max: 1, aheadMax: 1, quickMs: 1 })
  for (let n = 0; n < IDLE_MAX; n++) workedOff(queues, String(n))
  const [first, second] = ['0', '1'].map(key => queues.of({ key, accountId: 'an account' }))
  assert.ok(queues.all.includes(first!), 'as many as there may be')

  workedOff(queues, '0')
  workedOff(queues, 'one more')
  assert.equal(queues.all.length, IDLE_MAX)
  assert.deepEqual([queues.all.includes(first!), queues.all.includes(second!)], [true, false])
})

test('what is under way is active, however many there are', () => {
  const queues = new KeyQueues<object>({ first: 1, max: 1, aheadMax: 1, quickMs: 1 })
  for (let n = 0; n <= IDLE_MAX; n++) queues.put(queues.of({ key: String(n), accountId: 'an account' }), {})
  assert.equal(queues.active.length, IDLE_MAX + 1)
  const [one] = queues.active
  queues.noteEnd(one!)
  assert.ok(queues.active.includes(one!), 'an item of it waits')
})
