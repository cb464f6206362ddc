// Handlers of /v1/billing/assignments and /admin/v1/accounts/{id}/plan.
import { requireAccountAnywhere } from '../../identity/accounts/find.ts'
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage } from '../../platform/http/paging.ts'
import type { World } from '../../platform/world.ts'
import { assignPlan } from './assign.ts'
import { assignAccountPlanEndpoint, createAssignmentEndpoint, listAssignmentsEndpoint } from './contract.ts'
import { listAssignments } from './queries.ts'

export const assignmentRoutes = (world: World): Route[] => [
  route(listAssignmentsEndpoint, async ({ caller, query }) => {
    const tenantId = query.tenant_id ?? null
    if (tenantId !== null) await requireTenantInReach(world.db, caller.reach, tenantId)
    const { rows, next_cursor } = await readPage(world.secrets, 'assignments', query, keyset =>
      listAssignments(world.db.lists, caller.reach, { tenantId, ...keyset }),
    )
    return reply(200, { assignments: rows, next_cursor })
  }),
  route(createAssignmentEndpoint, async ({ by, caller, body }) => {
    const assignment = await assignPlan(world, by, {
      accountId: caller.reach.accountId,
      tenantId: body.tenant_id ?? null,
      planId: body.plan_id,
      effectiveFrom: body.effective_from ?? null,
      source: 'account',
    })
    return reply(201, assignment)
  }),
  route(assignAccountPlanEndpoint, async ({ by, params, body }) => {
    const { id: accountId } = await requireAccountAnywhere(world.db, params.id)
    const assignment = await assignPlan(world, by, {
      accountId,
      tenantId: null,
      planId: body.plan_id,
      effectiveFrom: body.effective_from ?? null,
      source: 'operator',
    })
    return reply(201, assignment)
  }),
]
