// Handlers of /v1/suppressions and /v1/complaints.
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import type { Actor } from '../../platform/db/actor.ts'
import { done, reply, route, type Route } from '../../platform/http/contract.ts'
import { LIMIT_DEFAULT } from '../../platform/http/schemas.ts'
import type { KeyPrincipal, Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { addSuppression, removeSuppression } from './add.ts'
import * as contract from './contract.ts'
import { countEntries, findHidesReason, listEntries } from './queries.ts'

/** Deliveries belong to a floor above; the composition root hands in who marks them. */
export type Complain = (
  world: World,
  by: Actor,
  reach: Reach,
  report: contract.ComplaintReport,
) => Promise<{ recipient: string; complained: boolean }>

export const feedbackRoutes = (world: World, complain: Complain): Route[] => [
  route(contract.listSuppressionsEndpoint, async ({ caller, query }) => {
    if (query.tenant_id !== undefined) await requireTenantInReach(world.db, caller.reach, query.tenant_id)
    const hides = await hidesReason(world, caller)
    if (hides && query.reason !== undefined) {
      throw refuse('invalid_request', 'The account does not show reasons, so entries cannot be asked for by them.')
    }
    const filter = {
      tenantId: query.tenant_id ?? null,
      reason: query.reason ?? null,
      part: query.q ?? null,
      limit: query.limit ?? LIMIT_DEFAULT,
      offset: query.offset ?? 0,
    }
    const [entries, total] = await Promise.all([
      listEntries(world.db.lists, caller.reach, filter),
      countEntries(world.db.lists, caller.reach, filter),
    ])
    return reply(200, { entries: hides ? entries.map(withoutReason) : entries, total })
  }),
  route(contract.addSuppressionEndpoint, async ({ by, caller, body }) => {
    const entry = await addSuppression(world, by, caller.reach, body)
    return reply(201, (await hidesReason(world, caller)) ? withoutReason(entry) : entry)
  }),
  route(contract.deleteSuppressionEndpoint, ({ by, caller, params }) =>
    done(removeSuppression(world, by, caller.reach, params.id)),
  ),
  route(contract.complainEndpoint, async ({ by, caller, body }) => {
    const { recipient, complained } = await complain(world, by, caller.reach, body)
    return reply(200, { message_id: body.message_id, recipient, complained, suppressed: true as const })
  }),
]

const hidesReason = async (world: World, { level, reach }: KeyPrincipal): Promise<boolean> =>
  level !== 'account' && (await findHidesReason(world.db, reach.accountId))

const withoutReason = (entry: contract.SuppressionEntry) => ({ ...entry, reason: null, detail: null })
