// Handlers of /v1/audit and /admin/v1/audit/verify.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { pageOf } from '../../platform/http/paging.ts'
import { idBefore, LIMIT_DEFAULT } from '../../platform/http/schemas.ts'
import type { World } from '../../platform/world.ts'
import { listAuditEndpoint, verifyAuditEndpoint } from './contract.ts'
import { listEntries } from './queries.ts'
import { sealToHead } from './seal.ts'
import { verifyAudit } from './verify.ts'

export const auditRoutes = (world: World): Route[] => [
  route(listAuditEndpoint, async ({ caller, query }) => {
    // Entries are shown with their hashes, so those that the sealing loop has not reached yet are sealed now.
    await sealToHead(world)
    const limit = query.limit ?? LIMIT_DEFAULT
    const rows = await listEntries(world.db, caller.reach, {
      action: query.action ?? null,
      beforeId: idBefore(query.before_id),
      limit: limit + 1,
    })
    const { rows: entries, hasMore } = pageOf(rows, limit)
    return reply(200, { entries, next_before_id: hasMore ? entries.at(-1)!.id : null })
  }),
  route(verifyAuditEndpoint, async () => reply(200, await verifyAudit(world))),
]
