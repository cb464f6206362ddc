// Finding a domain of a tenant on which an inbox may be made.
import type { Tx } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import { requireDomainForShare } from './queries.ts'

/** Locked against changes until the transaction ends: inbound cannot be switched off between the look and the commit. */
export async function requireInboundDomain(
  tx: Tx,
  { reach, tenantId, id }: { reach: Reach; tenantId: string; id: string },
): Promise<{ id: string; tenant_id: string; name: string }> {
  const domain = await requireDomainForShare(tx, reach, id)
  if (domain.tenant_id !== tenantId.toLowerCase()) throw notFound('domain')
  if (!domain.verified_at) throw refuse('conflict', 'The domain is not verified. Publish its records and verify it.')
  if (!domain.inbound_enabled) {
    throw refuse('conflict', `Inbound mail of the domain is off. Switch it on: POST /v1/domains/${domain.id}/inbound.`)
  }
  return domain
}
