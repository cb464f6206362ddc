// Assigning a plan to an account, or to one of its tenants as a rate card.
import { lockAccountForCap } from '../../identity/accounts/cap.ts'
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { requirePlanForShare } from '../plans/find.ts'
import type { Assignment } from './contract.ts'
import { countAssignments, insertAssignment } from './queries.ts'

/** A change a month for forty years. The history of a scope is read when it is priced. */
const ASSIGNMENTS_MAX = 500

interface Wanted {
  accountId: string
  /** Null: the account itself. */
  tenantId: string | null
  planId: string
  /** Null: today. */
  effectiveFrom: string | null
  source: Assignment['source']
}

export const assignPlan = (world: World, by: Actor, wanted: Wanted): Promise<Assignment> =>
  world.db.transact(by, async tx => {
    const { accountId, tenantId, planId } = wanted
    if (tenantId !== null) await requireTenantInReach(tx, { accountId, tenantId: null, inboxId: null }, tenantId)
    const plan = await requirePlanForShare(tx, planId)
    if (!plan.active) throw refuse('conflict', 'The plan is archived and cannot be assigned any more.')
    await lockAccountForCap(tx, accountId)
    if ((await countAssignments(tx, wanted)) >= ASSIGNMENTS_MAX) {
      throw refuse('conflict', `At most ${ASSIGNMENTS_MAX} assignments are kept for an account or a tenant.`)
    }
    return assignIn(tx, wanted)
  })

/** As part of a larger transaction. Without a plan: none from that day on. */
export async function assignIn(
  tx: Tx,
  { accountId, tenantId, planId, effectiveFrom, source }: Omit<Wanted, 'planId'> & { planId: string | null },
): Promise<Assignment> {
  const assignment = await insertAssignment(tx, accountId, {
    id: newId(tx.now),
    tenant_id: tenantId,
    plan_id: planId,
    effective_from: effectiveFrom ?? tx.now.toISOString().slice(0, 10),
    source,
  })
  tx.audit({
    action: 'assignment.create',
    accountId,
    tenantId,
    target: { type: 'assignment', id: assignment.id },
    after: assignment,
  })
  return assignment
}
