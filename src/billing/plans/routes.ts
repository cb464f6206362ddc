// Handlers of /v1/billing/plans and /admin/v1/plans.
import { done, reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage } from '../../platform/http/paging.ts'
import type { World } from '../../platform/world.ts'
import { archivePlan, updatePlan } from './change.ts'
import * as contract from './contract.ts'
import { createPlan } from './create.ts'
import { listPlans, requirePlan } from './queries.ts'

export function planRoutes(world: World): Route[] {
  const readPlans = async (query: { cursor?: string; limit?: number }, { isActiveOnly }: { isActiveOnly: boolean }) => {
    const { rows, next_cursor } = await readPage(world.secrets, 'plans', query, keyset =>
      listPlans(world.db.lists, { isActiveOnly, ...keyset }),
    )
    return { plans: rows, next_cursor }
  }
  return [
    route(contract.listCatalogueEndpoint, async ({ query }) =>
      reply(200, await readPlans(query, { isActiveOnly: true })),
    ),
    route(contract.listPlansEndpoint, async ({ query }) =>
      reply(200, await readPlans(query, { isActiveOnly: query.active === '1' })),
    ),
    route(contract.createPlanEndpoint, async ({ by, body }) => reply(201, await createPlan(world, by, body))),
    route(contract.getPlanEndpoint, async ({ params }) => reply(200, await requirePlan(world.db, params.id))),
    route(contract.updatePlanEndpoint, async ({ by, params, body }) =>
      reply(200, await updatePlan(world, by, params.id, body)),
    ),
    route(contract.archivePlanEndpoint, ({ by, params }) => done(archivePlan(world, by, params.id))),
  ]
}
