// One charge as it is shown: what was used, under which plan, for how much.
import { exactInteger } from '../../platform/http/exact-integer.ts'
import type { Plan } from '../plans/plan.ts'
import type { ChargeLine } from './contract.ts'
import { priceMonth } from './price.ts'

/**
 * Without a plan nothing is charged. The line is made in one piece: copying the fields of five thousand from one object to
 * another doubled what the collector of garbage had to do.
 */
export function chargeLine(tenantId: string | null, plan: Plan | null, recipients: bigint): ChargeLine {
  const { base, overage, total } = plan ? priceMonth(plan, recipients) : NOTHING
  return {
    tenant_id: tenantId,
    plan_id: plan?.id ?? null,
    plan_name: plan?.name ?? null,
    currency: plan?.currency ?? null,
    base_minor: exactInteger(base),
    overage_minor: exactInteger(overage),
    total_minor: exactInteger(total),
    included_recipients: plan?.included_recipients ?? 0,
    recipients: exactInteger(recipients),
  }
}

const NOTHING = { base: 0n, overage: 0n, total: 0n }
