// Handlers of /v1/audit and /admin/v1/audit/verify.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { readRows } from '../../platform/http/paging.ts'
import { idBefore } from '../../platform/http/schemas.ts'
import type { World } from '../../platform/world.ts'
import { listAuditEndpoint, verifyAuditEndpoint } from './contract.ts'
import { listEntries } from './queries.ts'
import { sealToHead } from './seal.ts'
import { verifyAudit } from './verify.ts'

export const auditRoutes = (world: World): Route[] => [
  route(listAuditEndpoint, async ({ caller, query }) => {
    // Entries are shown with their hashes, so those that the sealing worker has not reached yet are sealed now.
    await sealToHead(world)
    const filter = { action: query.action ?? null, beforeId: idBefore(query.before_id) }
    const { rows, last } = await readRows(query.limit, limit =>
      listEntries(world.db, caller.reach, { ...filter, limit }),
    )
    return reply(200, { entries: rows, next_before_id: last?.id ?? null })
  }),
  route(verifyAuditEndpoint, async () => reply(200, await verifyAudit(world))),
]
