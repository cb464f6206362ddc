// A scan over old rows of which some must stay.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RetentionScan } from './retention-scan.ts'

const HOUR_MS = 3_600_000
const { signal } = new AbortController()

test('rows that must stay are passed once a day, and gone on the day after they need not stay', async () => {
  const kept = new Set([1, 2, 3, 4, 5, 8])
  let rows = [1, 2, 3, 4, 5, 6, 7, 8, 9]
  let looked = 0
  const scan = new RetentionScan<number>()
  const pass = (hours: number): Promise<number> =>
    scan.run({ now: new Date(hours * HOUR_MS), size: 2, signal }, async after => {
      const batch = rows.filter(row => row > (after ?? 0)).slice(0, 2)
      looked += batch.length
      const deleted = batch.filter(row => !kept.has(row))
      rows = rows.filter(row => !deleted.includes(row))
      return { scanned: batch.length, deleted: deleted.length, last: batch.at(-1) ?? null }
    })

  assert.equal(await pass(0), 3)
  assert.equal(looked, 9)
  rows.push(10, 11)
  assert.equal(await pass(1), 2)
  assert.equal(looked, 11, 'only what is new')
  kept.clear()
  assert.equal(await pass(23), 0)
  assert.equal(await pass(24), 6)
  assert.deepEqual(rows, [])
})
