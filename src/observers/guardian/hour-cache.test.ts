// What is kept between passes, and how much is read in one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HourCache } from './hour-cache.ts'

const ask = (cache: HourCache, name: string, hours: number, items: readonly number[]) => {
  const read: number[] = []
  const kept = cache.get({ name, hours, items, keyOf: String }, async missing => {
    read.push(...missing)
    return missing.map(item => item * 2)
  })
  return kept.then(sums => ({ read, sums: items.map(item => sums.get(String(item))) }))
}

test('what is known is not read again while it is asked for at every pass', async () => {
  const cache = new HourCache()
  cache.beginPass()
  assert.deepEqual(await ask(cache, 'a', 24, [1, 2]), { read: [1, 2], sums: [2, 4] })
  cache.beginPass()
  assert.deepEqual(await ask(cache, 'a', 24, [2, 3]), { read: [3], sums: [4, 6] })
  cache.beginPass()
  await ask(cache, 'b', 24, [1])
  cache.beginPass()
  assert.deepEqual((await ask(cache, 'a', 24, [1, 2])).read, [1, 2], 'the hour moved on and came back')
})

test('a pass reads so much and no more; the next ones read the rest', async () => {
  const cache = new HourCache()
  const items = Array.from({ length: 4_000 }, (_, n) => n)
  let passes = 0
  for (let known = 0; known < items.length; passes++) {
    cache.beginPass()
    const { read, sums } = await ask(cache, 'week', 168, items)
    assert.ok(read.length * 168 <= 150_000)
    known = sums.filter(sum => sum !== undefined).length
    assert.equal(cache.isComplete, known === items.length)
  }
  assert.equal(passes, 5)
})
