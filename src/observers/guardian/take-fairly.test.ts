// Shares of a pass: nobody waits because of what others have, and what is left out has its turn.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takeFairly, takeRotated, takeWeighed } from './take-fairly.ts'

interface Item {
  owner: string
  n: number
}

const ownerOf = (item: Item): string => item.owner

const itemsOf = (owner: string, count: number): Item[] => Array.from({ length: count }, (_, n) => ({ owner, n }))

test('one of each owner is taken, then another of each, and owners of the rest are named', () => {
  const items = [...itemsOf('a', 9), ...itemsOf('b', 2), ...itemsOf('c', 1)]

  const { taken, cut } = takeFairly(items, ownerOf, { max: 7, perOwnerMax: 3 })

  assert.equal(taken.map(({ owner, n }) => `${owner}${n}`).join(' '), 'a0 b0 c0 a1 b1 a2')
  assert.deepEqual([...cut], ['a'])
})

test('every item has its turn within a few passes, whichever limit leaves some out', () => {
  for (const [owners, each, passes] of [
    [1, 300, 6],
    [1, 1_000, 20],
    [11, 100, 3],
    [40, 100, 8],
  ] as const) {
    const items = Array.from({ length: owners }, (_, n) => itemsOf(`owner${n}`, each)).flat()
    const seen = new Set<Item>()
    for (let pass = 0; pass < passes; pass++) {
      const now = new Date(Date.parse('2026-06-30T21:17:20Z') + pass * 10_000)
      const { taken } = takeRotated(items, ownerOf, { max: 1_000, perOwnerMax: 100, now })
      assert.equal(taken.length, Math.min(1_000, owners * 100))
      for (const item of taken) seen.add(item)
    }
    assert.equal(seen.size, items.length, `${owners} owners with ${each} each, after ${passes} passes`)
  }
})

const weightOf = ({ n }: Item): number => 1 + (n % 7)
const weigh = (items: readonly Item[]): number => items.reduce((sum, item) => sum + weightOf(item), 0)

test('owners with little get all of it, the others the same share of the rest by weight, and each item its turn', () => {
  const items = [...itemsOf('a', 2_000), ...itemsOf('b', 3_000), ...itemsOf('c', 20)]
  const seen = new Set<Item>()
  for (let pass = 0; pass < 24; pass++) {
    const now = new Date(Date.parse('2026-06-30T21:17:20Z') + pass * 10_000)
    const { taken, left } = takeWeighed(items, { ownerOf, weightOf }, { max: 2_000, perOwnerMax: 1_500, now })
    assert.equal(taken.length + left.length, items.length)
    const weights = ['a', 'b', 'c'].map(owner => weigh(taken.filter(item => item.owner === owner)))
    assert.equal(weights[2], weigh(itemsOf('c', 20)))
    assert.ok(weights[0]! > 950 && weights[1]! > 950 && weigh(taken) <= 2_000, weights.join())
    for (const item of taken) seen.add(item)
  }
  assert.equal(seen.size, items.length)
})

test('an owner alone gets no more than an owner may, and one item however heavy', () => {
  const [now, share] = [new Date(0), { max: 2_000, perOwnerMax: 100 }]
  const { taken } = takeWeighed(itemsOf('a', 500), { ownerOf, weightOf }, { ...share, now })
  assert.ok(weigh(taken) <= 100 && weigh(taken) > 90, String(weigh(taken)))
  const heavy = takeWeighed(itemsOf('a', 5), { ownerOf, weightOf: () => 1_000 }, { ...share, now })
  assert.deepEqual([heavy.taken.length, heavy.left.length], [1, 4])
})
