// Handlers of /v1/rules.
import { requireTenantWithin } from '../../platform/tenant-in-reach.ts'
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { nextIdCursor, pageOf, readIdCursor } from '../../platform/http/paging.ts'
import { LIMIT_DEFAULT } from '../../platform/http/schemas.ts'
import type { World } from '../../platform/world.ts'
import { deleteRuleEndpoint, listRulesEndpoint, saveRuleEndpoint, testRuleEndpoint } from './contract.ts'
import { listRulesOf, listTenantRules, toApi } from './queries.ts'
import { replayRule } from './replay.ts'
import { effectiveRules } from './rule.ts'
import { deleteRule, saveRule } from './save.ts'

export const guardianRoutes = (world: World): Route[] => [
  route(listRulesEndpoint, async ({ caller: { reach }, query }) => {
    const after = readIdCursor(world.secrets, 'rules', query.cursor)
    const tenantId = query.tenant_id ?? reach.tenantId
    if (query.tenant_id) await requireTenantWithin(world.db, reach, query.tenant_id)
    // The first page begins with what is in force for everybody; those of single tenants follow.
    const common = after === null ? await listRulesOf(world.db, reach.accountId, tenantId) : []
    const rules = after === null ? effectiveRules(common, tenantId).map(toApi) : []
    if (tenantId !== null) return reply(200, { rules, next_cursor: null })
    const limit = query.limit ?? LIMIT_DEFAULT
    const page = pageOf(await listTenantRules(world.db, reach, { after, limit: limit + 1 }), limit)
    return reply(200, {
      rules: [...rules, ...page.rows.map(toApi)],
      next_cursor: nextIdCursor(world.secrets, 'rules', page),
    })
  }),
  route(saveRuleEndpoint, async ({ by, caller, body }) => reply(200, await saveRule(world, by, caller.reach, body))),
  route(deleteRuleEndpoint, async ({ by, caller, params }) => {
    await deleteRule(world, by, caller.reach, params.id)
    return reply(204, null)
  }),
  route(testRuleEndpoint, async ({ caller, body }) => reply(200, await replayRule(world, caller.reach, body))),
]
