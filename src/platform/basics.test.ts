// Ids, SQL as a value, networks, batches, costly questions.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { Batcher } from './batcher.ts'
import { all, any, prepared, sql } from './db/sql.ts'
import { isUuid, newId, newIdAt, timeOfId } from './ids.ts'
import { cidrList, parseCidr } from './net/cidr.ts'
import { seldom } from './seldom.ts'
import { eventually } from '../../test/support/factories.ts'

test('ids are UUIDv7, unique, and grow also while the clock stands still or steps back', () => {
  const now = new Date()
  const ids = Array.from({ length: 20_000 }, (_, n) => newId(new Date(now.getTime() - (n % 3))))
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
  assert.ok(ids.every(id => isUuid(id) && /^.{14}7.{4}[89ab]/.test(id)))
})

test('an id carries its time', () => {
  const time = new Date('2031-05-06T07:08:09.123Z')
  assert.equal(parseInt(newId(time).replaceAll('-', '').slice(0, 12), 16), time.getTime())
})

test('an id at a moment is of that moment, whichever was made before, and those of one moment keep their order', () => {
  const now = Date.now()
  const times = [0, -5, 3, 3, 3, -5_000, 7].map(ms => new Date(now + ms))
  newId(new Date(now + 9_000))
  const ids = times.map(newIdAt)
  assert.deepEqual(ids.map(timeOfId), times)
  assert.deepEqual(ids.slice(2, 5), ids.slice(2, 5).toSorted())
  assert.ok(ids.every(isUuid))
})

test('fragments nest and placeholders are numbered through', () => {
  const inner = sql`b = ${2} and c = ${3}`
  assert.deepEqual(sql`select ${1} where ${inner} and d = ${4}`.toQuery(), {
    text: 'select $1 where b = $2 and c = $3 and d = $4',
    values: [1, 2, 3, 4],
  })
  assert.equal(sql`where ${all([null, false])}`.toQuery().text, 'where true')
  assert.equal(sql`where ${any([])}`.toQuery().text, 'where (false)')
  assert.equal(sql`where ${any([sql`a = ${1}`, sql`b = ${2}`])}`.toQuery().text, 'where (a = $1 or b = $2)')
})

test('undefined in SQL throws; null does not', () => {
  assert.throws(() => sql`select ${undefined}`, /undefined in SQL/)
  assert.deepEqual(sql`select ${null}`.toQuery().values, [null])
})

test('the same prepared text has the same name, another text another', () => {
  const one = (value: number) => prepared`select ${value}`.toQuery().name
  assert.equal(one(1), one(2))
  assert.notEqual(one(1), prepared`select ${1}, 2`.toQuery().name)
})

test('networks contain what they should, in both families and mapped', () => {
  const list = cidrList(['10.0.0.0/8', '2001:db8::/32', '192.0.2.7'])
  for (const inside of ['10.255.0.1', '::ffff:10.1.2.3', '2001:db8::1', '192.0.2.7'])
    assert.ok(list.contains(inside), inside)
  for (const outside of ['11.0.0.1', '2001:db9::1', '192.0.2.8', 'nonsense', ''])
    assert.ok(!list.contains(outside), outside)
  for (const bad of [
    '10.0.0.0/33',
    '::/129',
    '10.0.0/8',
    '10.0.0.0/8/8',
    '0177.0.0.1',
    'a',
    '',
    '1.2.3.4/',
    'fe80::1%eth0',
  ]) {
    assert.equal(parseCidr(bad), null, bad)
  }
})

test('a batcher gives each caller its own result, in batches that never exceed their size', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer(), { maxLength: 60 }),
      fc.integer({ min: 1, max: 9 }),
      async (items, itemsMax) => {
        const sizes: number[] = []
        const batcher = new Batcher<number, number>({
          itemsMax,
          slots: 2,
          run: async batch => {
            sizes.push(batch.length)
            return batch.map(item => item * 2)
          },
        })
        const results = await Promise.all(items.map(item => batcher.submit(item)))
        assert.deepEqual(
          results,
          items.map(item => item * 2),
        )
        assert.ok(sizes.every(size => size <= itemsMax))
      },
    ),
    { numRuns: 30 },
  )
})

test('of many callers a batch takes half, so that the others are prepared meanwhile; of few it takes all', async () => {
  const sizes: number[] = []
  const batcher = new Batcher<number, number>({
    itemsMax: 200,
    slots: 1,
    takesHalf: true,
    run: async batch => {
      sizes.push(batch.length)
      return batch
    },
  })
  const submit = (count: number) => Promise.all(Array.from({ length: count }, (_, n) => batcher.submit(n)))
  await submit(20)
  assert.deepEqual(sizes.splice(0), [20])
  await submit(100)
  assert.equal(sizes[0], 50)
  assert.ok(sizes.every(size => size <= 50))
})

test('a batch that gathers waits for more while items come in numbers: until there are enough, or time is up', async () => {
  const sizes: number[] = []
  const batcher = new Batcher<number, number>({
    itemsMax: 200,
    slots: 1,
    gathers: { items: 30, ms: 60 },
    run: async batch => {
      sizes.push(batch.length)
      return batch
    },
  })
  const submit = (count: number) => Promise.all(Array.from({ length: count }, (_, n) => batcher.submit(n)))
  const [began] = [performance.now(), await submit(1)]
  assert.ok(performance.now() - began < 50, 'a lone item does not wait')
  await submit(20)
  assert.deepEqual(sizes.splice(0), [1, 20])
  const early = submit(10)
  await delay(5)
  assert.deepEqual(sizes, [], 'it waits for more')
  await Promise.all([early, submit(20)])
  assert.deepEqual(sizes.splice(0), [30], 'enough')
  await submit(10)
  assert.deepEqual(sizes.splice(0), [10], 'time is up')
})

test('a batcher is busy while batches have many items, and no longer', async () => {
  const batcher = new Batcher<number, number>({ itemsMax: 200, slots: 1, run: async batch => batch })
  await batcher.submit(1)
  assert.equal(batcher.isBusy, false)
  await Promise.all(Array.from({ length: 20 }, (_, n) => batcher.submit(n)))
  assert.equal(batcher.isBusy, true)
  await delay(150)
  assert.equal(batcher.isBusy, false)
})

test('a failing batch fails its own callers and not those of the next', async () => {
  let isBroken = true
  const batcher = new Batcher<number, number>({
    itemsMax: 2,
    slots: 1,
    run: async batch => {
      if (isBroken) throw new Error('broken')
      return batch
    },
  })
  await assert.rejects(batcher.submit(1), /broken/)
  isBroken = false
  assert.equal(await batcher.submit(2), 2)
})

test('a costly question is asked once by callers that ask together, waits after its answer, and not after a failure', async () => {
  let asked = 0
  const question = seldom(async () => {
    asked += 1
    await delay(10)
    if (asked === 3) throw new Error('away')
    return asked
  })
  assert.deepEqual(await Promise.all([question(), question()]), [1, 1])
  assert.equal(await question(), 1)
  await eventually('it is asked again', async () => (await question()) === 2)
  await assert.rejects(
    eventually('it fails', async () => (await question()) === 3),
    /away/,
  )
  assert.equal(await question(), 4)
})
