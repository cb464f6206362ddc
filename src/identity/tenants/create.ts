// Creating a tenant.
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import type { Tenant, TenantCreate } from './contract.ts'
import { insertTenant } from './queries.ts'

/** Recipients of one message when the tenant has no other limit. */
const RECIPIENTS_MAX_DEFAULT = 1000

export const createTenant = (
  world: World,
  by: Actor,
  { accountId }: Pick<Reach, 'accountId'>,
  wanted: TenantCreate,
): Promise<Tenant> => world.db.transact(by, tx => createTenantIn(tx, accountId, wanted))

/** As part of a larger transaction. */
export async function createTenantIn(tx: Tx, accountId: string, wanted: TenantCreate): Promise<Tenant> {
  const tenant = await insertTenant(tx, accountId, {
    id: newId(tx.now),
    external_id: wanted.external_id,
    name: wanted.name,
    status: 'active',
    quota_daily: wanted.quota_daily ?? null,
    quota_monthly: wanted.quota_monthly ?? null,
    rate_per_minute: wanted.rate_per_minute ?? null,
    rate_per_hour: wanted.rate_per_hour ?? null,
    max_recipients_per_message: wanted.max_recipients_per_message ?? RECIPIENTS_MAX_DEFAULT,
    created_at: tx.now.toISOString(),
  })
  if (!tenant) throw refuse('duplicate_external_id', 'A tenant with this external_id exists already.')
  tx.audit({
    action: 'tenant.create',
    accountId,
    tenantId: tenant.id,
    target: { type: 'tenant', id: tenant.id },
    after: tenant,
  })
  return tenant
}
