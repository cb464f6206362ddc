// Creating a tenant.
import type { Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import type { Tenant, TenantCreate } from './contract.ts'
import { insertTenant } from './queries.ts'

/** Recipients of one message when the tenant has no other limit (DECISIONS §3). */
const RECIPIENTS_MAX_DEFAULT = 1000

export function createTenant(
  world: World,
  by: Actor,
  reach: Pick<Reach, 'accountId'>,
  wanted: TenantCreate,
): Promise<Tenant> {
  return world.db.transact(by, async tx => {
    const tenant = await insertTenant(tx, reach.accountId, {
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
      accountId: reach.accountId,
      tenantId: tenant.id,
      target: { type: 'tenant', id: tenant.id },
      after: tenant,
    })
    return tenant
  })
}
