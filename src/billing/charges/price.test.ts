// Prices, held against a reference that is written another way: every boundary counted from the start of the month.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { aPriceList, referenceTotal } from './charges.fixture.ts'
import { priceMonth } from './price.ts'

const free = { base_price_minor: 0, included_recipients: 0, overage_per_thousand_minor: 0, tiers: [] }

test('included recipients cost nothing, those after them the price per thousand', () => {
  const plan = { ...free, base_price_minor: 1_000, included_recipients: 100, overage_per_thousand_minor: 50 }
  assert.deepEqual(priceMonth(plan, 0n), { base: 1_000n, overage: 0n, total: 1_000n })
  assert.deepEqual(priceMonth(plan, 100n), { base: 1_000n, overage: 0n, total: 1_000n })
  assert.deepEqual(priceMonth(plan, 2_100n), { base: 1_000n, overage: 100n, total: 1_100n })
})

test('the whole overage is rounded once, half a minor unit up', () => {
  const plan = { ...free, overage_per_thousand_minor: 1 }
  assert.equal(priceMonth(plan, 499n).overage, 0n)
  assert.equal(priceMonth(plan, 500n).overage, 1n)
  assert.equal(priceMonth(plan, 1_499n).overage, 1n)
  // A third of a unit in each of three tiers makes one unit, not none.
  const thirds = [333, 666, 0].map(up_to_recipients => ({ up_to_recipients, price_per_thousand_minor: 1 }))
  assert.equal(priceMonth({ ...free, tiers: thirds }, 1_000n).overage, 1n)
})

test('a recipient is priced in the tier that holds its ordinal of the month, included ones counted', () => {
  const tiers = [
    { up_to_recipients: 1_000, price_per_thousand_minor: 1_000_000 },
    { up_to_recipients: 3_000, price_per_thousand_minor: 2_000 },
    { up_to_recipients: 0, price_per_thousand_minor: 1_000 },
  ]
  const plan = { ...free, included_recipients: 2_000, overage_per_thousand_minor: 9_999, tiers }
  assert.equal(priceMonth(plan, 3_000n).overage, 2_000n)
  assert.equal(priceMonth(plan, 5_000n).overage, 4_000n)
  assert.equal(priceMonth({ ...plan, included_recipients: 0 }, 1n).overage, 1_000n)
})

test('amounts are exact far beyond what a double or an int64 holds', () => {
  const largest = Number.MAX_SAFE_INTEGER
  const plan = { ...free, base_price_minor: 1, overage_per_thousand_minor: largest }
  assert.equal(priceMonth(plan, 10n ** 18n).total, BigInt(largest) * 10n ** 15n + 1n)
})

test('whatever the plan, the price is that of the reference', () => {
  fc.assert(
    fc.property(aPriceList, fc.bigInt({ min: 0n, max: 2n ** 70n }), fc.nat(100_000), (plan, large, small) => {
      for (const recipients of [large, BigInt(small)]) {
        assert.equal(priceMonth(plan, recipients).total, referenceTotal(plan, recipients))
      }
    }),
    { numRuns: 2_000 },
  )
})
