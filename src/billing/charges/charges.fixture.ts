// Random price lists, and what they cost by a reference that shares nothing with the code: the price of the first n
// recipients of a month, for n with and n without the included ones, as fractions in thousandths.
import fc from 'fast-check'

interface PriceList {
  base_price_minor: number
  included_recipients: number
  overage_per_thousand_minor: number
  tiers: { up_to_recipients: number; price_per_thousand_minor: number }[]
}

/** Small values, where boundaries meet, and the largest there are. */
const amount = fc.oneof(fc.nat(20), fc.nat(5_000), fc.maxSafeNat())

export const aPriceList: fc.Arbitrary<PriceList> = fc.record({
  base_price_minor: amount,
  included_recipients: amount,
  overage_per_thousand_minor: amount,
  tiers: fc
    .tuple(
      fc.uniqueArray(fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 10_000 })), { maxLength: 6 }),
      fc.infiniteStream(amount),
      fc.boolean(),
    )
    .map(([ends, prices, hasTiers]) =>
      hasTiers
        ? [...ends.toSorted((left, right) => left - right), 0].map(up_to_recipients => ({
            up_to_recipients,
            price_per_thousand_minor: prices.next().value!,
          }))
        : [],
    ),
})

export function referenceTotal(plan: PriceList, recipients: bigint): bigint {
  const beyond = costOfFirst(plan, recipients) - costOfFirst(plan, BigInt(plan.included_recipients))
  const thousandths = recipients > BigInt(plan.included_recipients) ? beyond : 0n
  const whole = thousandths / 1000n
  return BigInt(plan.base_price_minor) + whole + (2n * (thousandths % 1000n) >= 1000n ? 1n : 0n)
}

/** In thousandths of a minor unit, as if none were included. */
function costOfFirst({ tiers, overage_per_thousand_minor }: PriceList, n: bigint): bigint {
  if (tiers.length === 0) return n * BigInt(overage_per_thousand_minor)
  return tiers
    .map((tier, index) => {
      const start = index === 0 ? 0n : BigInt(tiers[index - 1]!.up_to_recipients)
      const width = tier.up_to_recipients === 0 ? n : BigInt(tier.up_to_recipients) - start
      const within = n - start < 0n ? 0n : n - start
      return (within < width ? within : width) * BigInt(tier.price_per_thousand_minor)
    })
    .reduce((left, right) => left + right)
}
