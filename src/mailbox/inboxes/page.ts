// One page of the inboxes that a caller may see.
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import { readPage } from '../../platform/http/paging.ts'
import type { Reach } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import type { Inbox } from './inbox-schema.ts'
import { presentInbox } from './present.ts'
import { listInboxes } from './queries.ts'

export async function readInboxPage(
  { db, secrets }: World,
  reach: Reach,
  query: { tenant_id?: string; cursor?: string; limit?: number },
): Promise<{ inboxes: Inbox[]; next_cursor: string | null }> {
  const { rows, next_cursor } = await readPage(secrets, 'inboxes', query, async keyset => {
    if (query.tenant_id) await requireTenantInReach(db, reach, query.tenant_id)
    return listInboxes(db.lists, reach, { tenantId: query.tenant_id ?? null, ...keyset })
  })
  return { inboxes: rows.map(presentInbox), next_cursor }
}
