// Switching inbound mail of a domain on or off.
import type { Config } from '../../platform/config.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { Named } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import type { Domain } from './contract.ts'
import { presentDomain } from './present.ts'
import { requireDomainForUpdate, updateDomainInbound } from './queries.ts'

interface InboundChange extends Named {
  isEnabled: boolean
}

/** The inboxes of the tenant that had their addresses under this name before it was deleted have them again. */
export type AttachInboxes = (tx: Tx, domain: Pick<Domain, 'id' | 'tenant_id' | 'name'>) => Promise<unknown>

interface Lent {
  attachInboxes: AttachInboxes
}

export const setInbound = (world: World, by: Actor, { attachInboxes, ...change }: InboundChange & Lent) =>
  world.db.transact(by, async tx => {
    const domain = await setInboundIn(tx, world.config, change)
    if (domain.inbound_enabled && domain.verified) await attachInboxes(tx, domain)
    return domain
  })

/** As part of a larger transaction. */
export async function setInboundIn(tx: Tx, config: Config, { reach, id, isEnabled }: InboundChange): Promise<Domain> {
  const before = await requireDomainForUpdate(tx, reach, id)
  if (isEnabled && !before.mx_verified_at) {
    throw refuse('mx_not_verified', 'The MX record is not verified. Publish it, verify the domain, then try again.')
  }
  if (before.inbound_enabled === isEnabled) return presentDomain(config, before)
  const after = await updateDomainInbound(tx, id, isEnabled)
  tx.audit({
    action: 'domain.inbound',
    accountId: before.account_id,
    tenantId: before.tenant_id,
    target: { type: 'domain', id },
    before: { inbound_enabled: before.inbound_enabled },
    after: { inbound_enabled: after.inbound_enabled },
  })
  return presentDomain(config, after)
}
