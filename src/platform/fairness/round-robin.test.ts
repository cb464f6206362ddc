// Round robin: among accounts, among the tenants of one, and among slices of long work.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Batcher } from '../batcher.ts'
import { RoundRobin } from './round-robin.ts'
import { runAtOnce, Slices } from '../slices.ts'

const drain = <T>(queue: RoundRobin<T>): T[] => {
  const taken: T[] = []
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item)
  return taken
}

test('accounts are served round robin, and so are the tenants of one account', () => {
  const queue = new RoundRobin<string>()
  for (const item of ['a1', 'a2', 'a3']) queue.push(item, ['a', 't1'])
  queue.push('a4', ['a', 't2'])
  queue.push('b1', ['b', 't'])
  queue.push('c1', ['c', 't'])

  assert.equal(queue.length, 6)
  assert.deepEqual(drain(queue), ['a1', 'b1', 'c1', 'a4', 'a2', 'a3'])
  assert.equal(queue.length, 0)
})

test('without a path it is first come, first served', () => {
  const queue = new RoundRobin<number>()
  for (let item = 0; item < 100; item++) queue.push(item, [])
  assert.deepEqual(
    drain(queue),
    Array.from({ length: 100 }, (_, n) => n),
  )
})

test('an item that is not accepted stays next, whatever comes meanwhile', () => {
  const queue = new RoundRobin<string>()
  queue.push('heavy', ['a'])
  assert.equal(
    queue.take(() => false),
    undefined,
  )
  queue.push('light', ['b'])
  assert.deepEqual(drain(queue), ['heavy', 'light'])
})

test('one account with a thousand submissions waiting delays the one of another by a batch', async () => {
  const batches: string[][] = []
  const batcher = new Batcher<string, void>({
    itemsMax: 10,
    slots: 1,
    sharedBy: item => [item[0]!],
    run: async items => {
      batches.push(items)
      return items.map(() => undefined)
    },
  })
  const hostile = Array.from({ length: 1_000 }, () => batcher.submit('a'))
  await batcher.submit('b')
  assert.ok(batches.length <= 2, `${batches.length} batches went before`)
  await Promise.all(hostile)
})

test('a batch is bounded by weight; one that is heavier than a batch goes alone', async () => {
  const batches: number[][] = []
  const batcher = new Batcher<number, void>({
    itemsMax: 10,
    slots: 1,
    weightMax: 100,
    weightOf: item => item,
    run: async items => {
      batches.push(items)
      return items.map(() => undefined)
    },
  })
  await Promise.all([60, 40, 1, 500, 70, 30].map(item => batcher.submit(item)))
  assert.deepEqual(batches, [[60, 40], [1], [500], [70, 30]])
})

test('one slice runs per turn of the event loop, and accounts are served round robin', async () => {
  const order: string[] = []
  function* work(name: string): Generator<void, string> {
    for (let step = 0; step < 3; step++) {
      order.push(name + step)
      yield
    }
    return name
  }
  const slices = new Slices()
  const all = Promise.all([
    slices.run(work('a'), ['one']),
    slices.run(work('b'), ['one']),
    slices.run(work('c'), ['two']),
  ])
  let turns = 0
  const isDone = { value: false }
  void all.then(() => (isDone.value = true))
  while (!isDone.value) {
    const before = order.length
    await new Promise(resolve => setImmediate(resolve))
    assert.ok(order.length - before <= 1)
    turns += 1
  }
  assert.ok(turns >= 9)
  assert.deepEqual(await all, ['a', 'b', 'c'])
  assert.ok(order.indexOf('c2') < order.indexOf('b2'), order.join(' '))
  assert.equal(runAtOnce(work('d')), 'd')
})

test('work that fails in a slice fails alone', async () => {
  const slices = new Slices()
  function* broken(): Generator<void, void> {
    yield
    throw new Error('broken')
  }
  function* sound(): Generator<void, number> {
    yield
    yield
    return 1
  }
  const [first, second] = await Promise.allSettled([slices.run(broken(), []), slices.run(sound(), [])])
  assert.equal(first.status, 'rejected')
  assert.deepEqual(second, { status: 'fulfilled', value: 1 })
})
