// Changing a tenant: name, status, limits.
import { changedFields } from '../../platform/changes.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Named } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import type { Tenant, TenantUpdate } from './contract.ts'
import { requireTenantForUpdate, updateTenantRow } from './queries.ts'

interface TenantChange extends Named {
  patch: TenantUpdate
}

export function updateTenant(world: World, by: Actor, { reach, id, patch }: TenantChange): Promise<Tenant> {
  return world.db.transact(by, async tx => {
    const current = await requireTenantForUpdate(tx, reach, id)
    const changes = changedFields<Tenant>(current, patch)
    if (!changes) return current
    const tenant = await updateTenantRow(tx, { ...current, ...changes.after })
    tx.audit({ accountId: reach.accountId, tenantId: id, target: { type: 'tenant', id }, ...changes })
    return tenant
  })
}
