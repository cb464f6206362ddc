// Handler of /v1/events.
import { normaliseAddress } from '../../mail/address/address.ts'
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { readRows } from '../../platform/http/paging.ts'
import { idBefore } from '../../platform/http/schemas.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { listEventsEndpoint } from './contract.ts'
import { listEvents } from './queries.ts'

export const eventRoutes = (world: World): Route[] => [
  route(listEventsEndpoint, async ({ caller, query }) => {
    if (query.before_id !== undefined && query.after_id !== undefined) {
      throw refuse('invalid_request', 'before_id and after_id cannot be used together.')
    }
    if (query.tenant_id !== undefined) await requireTenantInReach(world.db, caller.reach, query.tenant_id)
    const filter = {
      type: query.type ?? null,
      tenantId: query.tenant_id ?? null,
      messageId: query.message_id ?? null,
      recipient: query.recipient === undefined ? null : normaliseAddress(query.recipient),
      beforeId: idBefore(query.before_id),
      afterId: query.after_id ?? null,
    }
    const { rows: events, last } = await readRows(query.limit, limit =>
      listEvents(world.db, caller.reach, { ...filter, limit }),
    )
    if (query.after_id !== undefined) {
      return reply(200, { events, next_before_id: null, next_after_id: events.at(-1)?.id ?? query.after_id })
    }
    return reply(200, { events, next_before_id: last?.id ?? null })
  }),
]
