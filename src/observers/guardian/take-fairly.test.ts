// Shares of a pass: nobody waits because of what others have, and what is left out has its turn.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takeFairly, takeRotated } from './take-fairly.ts'

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
