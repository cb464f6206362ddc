// What a month is going to cost: one line for the account, one for each tenant that has a rate card.
import type { Reads } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import type { Slices } from '../../platform/slices.ts'
import { listAccountPlans } from '../assignments/effective.ts'
import { listPlansById } from '../plans/find.ts'
import type { Plan } from '../plans/plan.ts'
import { chargeLine } from './charge.ts'
import type { ChargeLine } from './contract.ts'
import type { Month } from './month.ts'
import type { UsedCard } from './queries.ts'

/** Lines that are priced without a break: about a millisecond with as many tiers as a plan may have. */
const SLICE_LINES = 100

interface Asked {
  month: Month
  cards: readonly UsedCard[]
  /** What all tenants sent, where the line of the account is wanted: it comes first. */
  accountRecipients: bigint | null
  slices: Slices
}

export async function previewLines(
  db: Reads,
  { accountId }: Reach,
  { month, cards, accountRecipients, slices }: Asked,
): Promise<ChargeLine[]> {
  const [own] = accountRecipients === null ? [] : await listAccountPlans(db, [accountId], month.last)
  const planIds = new Set(cards.map(card => card.plan_id))
  if (own?.plan_id) planIds.add(own.plan_id)
  const plans = new Map((await listPlansById(db, [...planIds])).map(plan => [plan.id, plan]))
  const lines: ChargeLine[] = []
  if (accountRecipients !== null) {
    lines.push(chargeLine(null, plans.get(own?.plan_id ?? '') ?? null, accountRecipients))
  }
  return slices.run(addLines(lines, cards, plans), [accountId])
}

function* addLines(
  lines: ChargeLine[],
  cards: readonly UsedCard[],
  plans: ReadonlyMap<string, Plan>,
): Generator<void, ChargeLine[]> {
  for (const { tenant_id, plan_id, recipients } of cards) {
    lines.push(chargeLine(tenant_id, plans.get(plan_id) ?? null, BigInt(recipients)))
    if (lines.length % SLICE_LINES === 0) yield
  }
  return lines
}
