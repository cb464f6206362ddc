// Changing and archiving a plan.
import { changedFields } from '../../platform/changes.ts'
import type { Actor } from '../../platform/db/actor.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import type { PlanUpdate } from './contract.ts'
import type { Plan } from './plan.ts'
import { archivePlanRow, requirePlanForUpdate, updatePlanRow } from './queries.ts'
import { checkTiers } from './tiers.ts'

export async function updatePlan(world: World, by: Actor, id: string, patch: PlanUpdate): Promise<Plan> {
  if (patch.tiers) checkTiers(patch.tiers)
  return world.db.transact(by, async tx => {
    const current = await requirePlanForUpdate(tx, id)
    const changes = changedFields<Plan>(current, withoutSameTiers(patch, current))
    if (!changes) return current
    if (!current.active) throw refuse('conflict', 'The plan is archived: what it cost stays as it was.')
    const plan = await updatePlanRow(tx, { ...current, ...changes.after })
    tx.audit({ accountId: null, target: { type: 'plan', id }, ...changes })
    return plan
  })
}

/** Lists are compared by what they say. */
function withoutSameTiers({ tiers, ...patch }: PlanUpdate, current: Plan): PlanUpdate {
  const isSame =
    tiers?.length === current.tiers.length &&
    tiers.every(({ up_to_recipients, price_per_thousand_minor }, index) => {
      const other = current.tiers[index]!
      return up_to_recipients === other.up_to_recipients && price_per_thousand_minor === other.price_per_thousand_minor
    })
  return tiers === undefined || isSame ? patch : { ...patch, tiers }
}

/** Archiving again changes nothing. */
export const archivePlan = (world: World, by: Actor, id: string): Promise<void> =>
  world.db.transact(by, async tx => {
    const plan = await requirePlanForUpdate(tx, id)
    if (!plan.active) return
    await archivePlanRow(tx, id)
    const archived_at = tx.now.toISOString()
    tx.audit({ accountId: null, target: { type: 'plan', id }, before: { archived_at: null }, after: { archived_at } })
  })
