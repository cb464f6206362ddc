// Deleting a domain. What is queued is still sent, without its signature; new mail from it is refused at once.
import type { Actor } from '../../platform/db/actor.ts'
import type { Named } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { summariseDomain } from './present.ts'
import { deleteDomainRow, requireDomainForUpdate } from './queries.ts'

export function deleteDomain(world: World, by: Actor, { reach, id }: Named): Promise<void> {
  return world.db.transact(by, async tx => {
    const domain = await requireDomainForUpdate(tx, reach, id)
    await deleteDomainRow(tx, id)
    tx.audit({
      accountId: domain.account_id,
      tenantId: domain.tenant_id,
      target: { type: 'domain', id },
      before: summariseDomain(world.config, domain),
    })
  })
}
