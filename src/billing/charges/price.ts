// What a month costs under a plan. Exact: integers of any size, one rounding at the end of the whole overage.
import type { Plan } from '../plans/plan.ts'

type PriceList = Pick<Plan, 'base_price_minor' | 'included_recipients' | 'overage_per_thousand_minor' | 'tiers'>

export function priceMonth(plan: PriceList, recipients: bigint): { base: bigint; overage: bigint; total: bigint } {
  const base = BigInt(plan.base_price_minor)
  const overage = perThousand(overageTimesThousand(plan, recipients))
  return { base, overage, total: base + overage }
}

/** Recipients after the included ones, each at the price of the tier that holds its ordinal of the month. */
function overageTimesThousand(plan: PriceList, recipients: bigint): bigint {
  const included = BigInt(plan.included_recipients)
  if (recipients <= included) return 0n
  if (plan.tiers.length === 0) return (recipients - included) * BigInt(plan.overage_per_thousand_minor)
  let sum = 0n
  let priced = included
  for (const { up_to_recipients, price_per_thousand_minor } of plan.tiers) {
    const end = up_to_recipients === 0 ? recipients : smaller(BigInt(up_to_recipients), recipients)
    if (end <= priced) continue
    sum += (end - priced) * BigInt(price_per_thousand_minor)
    priced = end
  }
  return sum
}

/** Half a minor unit is rounded up. */
const perThousand = (sum: bigint): bigint => (sum + 500n) / 1000n

const smaller = (left: bigint, right: bigint): bigint => (left < right ? left : right)
