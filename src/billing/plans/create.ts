// Creating a plan.
import type { Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import type { World } from '../../platform/world.ts'
import type { PlanInput } from './contract.ts'
import { insertPlan } from './queries.ts'
import { checkTiers } from './tiers.ts'

const CURRENCY_DEFAULT = 'EUR'

export async function createPlan(world: World, by: Actor, wanted: PlanInput) {
  const tiers = wanted.tiers ?? []
  checkTiers(tiers)
  return world.db.transact(by, async tx => {
    const plan = await insertPlan(tx, {
      id: newId(tx.now),
      name: wanted.name,
      currency: wanted.currency ?? CURRENCY_DEFAULT,
      base_price_minor: wanted.base_price_minor ?? 0,
      included_recipients: wanted.included_recipients ?? 0,
      overage_per_thousand_minor: wanted.overage_per_thousand_minor ?? 0,
      tiers,
      payment_price_id: wanted.payment_price_id ?? null,
    })
    tx.audit({ accountId: null, target: { type: 'plan', id: plan.id }, after: plan })
    return plan
  })
}
