// Adding and removing a suppression by hand.
import { parseAddress } from '../../mail/address/address.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Reach } from '../../platform/principal.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import type { SuppressionAdd } from './contract.ts'
import { deleteEntry, findEntry, listedAddress } from './queries.ts'
import { suppress } from './suppress.ts'

export function addSuppression(world: World, by: Actor, reach: Reach, wanted: SuppressionAdd) {
  const parsed = parseAddress(wanted.address)
  if (!parsed) throw refuse('invalid_request', 'address is not a valid email address.')
  const address = listedAddress(parsed.address)
  return world.db.transact(by, async tx => {
    // A tenant's key can only mean its own tenant; an account's key without a tenant means all of them.
    const tenantId = wanted.tenant_id ?? reach.tenantId
    if (tenantId !== null) await requireTenantInReach(tx, reach, tenantId)
    const about = { accountId: reach.accountId, tenantId, address }
    const known = await findEntry(tx, about)
    const changed = await suppress(tx, [
      { ...about, reason: wanted.reason ?? 'manual', detail: wanted.detail ?? null, messageId: null },
    ])
    const entry = await findEntry(tx, about)
    if (!entry) throw new Error('a suppression that was added is not there')
    // An entry for as weighty a reason stays as it is.
    if (changed > 0) {
      const target = { type: 'suppression', id: entry.id }
      tx.audit({ accountId: reach.accountId, tenantId, target, before: known, after: entry })
    }
    return entry
  })
}

export function removeSuppression(world: World, by: Actor, reach: Reach, id: string): Promise<void> {
  return world.db.transact(by, async tx => {
    const entry = await deleteEntry(tx, reach, id)
    if (!entry) throw notFound('suppression')
    tx.audit({
      accountId: reach.accountId,
      tenantId: entry.tenant_id,
      target: { type: 'suppression', id },
      before: entry,
    })
  })
}
