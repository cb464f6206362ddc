// What is kept between passes, and how much is read in one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HourCache } from './hour-cache.ts'
import { takeFairly } from './take-fairly.ts'

const ask = (cache: HourCache, name: string, hours: number, items: readonly number[]) => {
  const read: number[] = []
  const kept = cache.get(
    { name, hours, items, keyOf: String, ownerOf: item => (item >= 10_000 ? 'small' : 'large') },
    async missing => {
      read.push(...missing)
      return missing.map(item => item * 2)
    },
  )
  return kept.then(sums => ({ read, sums: items.map(sums) }))
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

test('an account with thousands of scopes leaves room for others, in one question and in the next', async () => {
  const items = Array.from({ length: 4_000 }, (_, n) => n)
  const together = new HourCache()
  together.beginPass()
  const { sums } = await ask(together, 'week', 168, [...items, 10_001, 10_002])
  assert.deepEqual(sums.slice(-2), [20_002, 20_004])
  assert.deepEqual([...together.cutAccounts], ['large'])

  const apart = new HourCache()
  apart.beginPass()
  await ask(apart, 'week', 168, items)
  assert.deepEqual((await ask(apart, 'another', 168, [1, 10_001])).read, [10_001])
  const many = Array.from({ length: 400 }, (_, n) => 10_000 + n)
  assert.equal((await ask(apart, 'other week', 168, many)).read.length, 49, 'what it may have of the reserve')
  assert.deepEqual([...apart.cutAccounts], ['large', 'small'])
})

test('what is kept of an owner and of all has a bound, and what is dropped is read again in turn', async () => {
  const [perOwnerMax, max] = [100, 250]
  const cache = new HourCache({ perOwnerMax, max })
  const items = Array.from({ length: 300 }, (_, n) => n)
  const seen = new Set<number>()
  for (let pass = 0; seen.size < items.length; pass++) {
    assert.ok(pass < 100, `${seen.size} of 300 were read`)
    cache.beginPass()
    assert.ok(cache.size <= perOwnerMax, `${cache.size} of one owner`)
    const { read, sums } = await ask(cache, 'week', 1_000, items)
    assert.ok(pass === 0 || read.length > 0)
    for (const item of read) seen.add(item)
    // What is known in a pass is known to its end.
    assert.ok(read.every(item => sums[item] === item * 2))
  }

  const shared = new HourCache({ perOwnerMax, max })
  for (let owner = 0; owner < 5; owner++) {
    await shared.get(
      {
        name: 'day',
        hours: 24,
        items: items.slice(0, 90),
        keyOf: item => `${owner} ${item}`,
        ownerOf: () => `${owner}`,
      },
      async missing => missing,
    )
  }
  assert.equal(shared.size, 450)
  shared.beginPass()
  assert.ok(shared.size <= 250 && shared.size >= 200, `${shared.size} of all`)
})

test('each owner has one in turn, and who is cut is known', () => {
  const owner = (item: string) => item[0]!
  const items = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2']
  assert.deepEqual(takeFairly(items, owner, { max: 5 }), {
    taken: ['a1', 'b1', 'c1', 'a2', 'c2'],
    cut: new Set(['a']),
  })
  assert.deepEqual(takeFairly(items, owner, { max: 100, perOwnerMax: 1 }), {
    taken: ['a1', 'b1', 'c1'],
    cut: new Set(['a', 'c']),
  })
  assert.deepEqual(takeFairly(items, owner, { max: 2 }).cut, new Set(['a', 'c']))
  assert.deepEqual(takeFairly([], owner, { max: 5 }), { taken: [], cut: new Set() })
})
