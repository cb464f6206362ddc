// Handlers of /v1/rules.
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import { done, reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage, type Keyset } from '../../platform/http/paging.ts'
import type { Reach } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { deleteRuleEndpoint, listRulesEndpoint, saveRuleEndpoint, testRuleEndpoint } from './contract.ts'
import { listRulesOf, listTenantRules, toApi } from './queries.ts'
import { replayRule } from './replay.ts'
import { effectiveRules } from './rule.ts'
import { deleteRule, saveRule } from './save.ts'

export const guardianRoutes = (world: World): Route[] => [
  route(listRulesEndpoint, async ({ caller: { reach }, query }) => {
    if (query.tenant_id) await requireTenantInReach(world.db, reach, query.tenant_id)
    const { rows, next_cursor } = await readPage(world.secrets, 'rules', query, keyset =>
      listRules(world, reach, query.tenant_id ?? reach.tenantId, keyset),
    )
    return reply(200, { rules: rows.map(toApi), next_cursor })
  }),
  route(saveRuleEndpoint, async ({ by, caller, body }) => reply(200, await saveRule(world, by, caller.reach, body))),
  route(deleteRuleEndpoint, ({ by, caller, params }) => done(deleteRule(world, by, caller.reach, params.id))),
  route(testRuleEndpoint, async ({ caller, body }) => reply(200, await replayRule(world, caller.reach, body))),
]

/** First what is in force for everybody, or for that tenant; then, without one, those of single tenants. */
async function listRules(world: World, reach: Reach, tenantId: string | null, { after: last, limit }: Keyset<string>) {
  const inForce = effectiveRules(await listRulesOf(world.db, reach.accountId, tenantId), tenantId)
  const lastAt = inForce.findIndex(rule => rule.id === last)
  const isPast = last !== null && lastAt === -1
  const rows = isPast ? [] : inForce.slice(lastAt + 1, lastAt + 1 + limit)
  if (tenantId !== null || rows.length === limit) return rows
  const rest = { after: isPast ? last : null, limit: limit - rows.length }
  return [...rows, ...(await listTenantRules(world.db, reach, rest))]
}
