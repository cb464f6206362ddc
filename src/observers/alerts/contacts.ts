// Adding and removing the contacts that are told of alerts.
import { parseAddressOnly } from '../../mail/address/address.ts'
import { lockAccountForCap } from '../../identity/accounts/cap.ts'
import type { Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import { requireTarget } from '../../platform/net/http-target.ts'
import type { Reach } from '../../platform/principal.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { mintSigningSecret } from '../webhooks/signature.ts'
import type { AlertContact, AlertContactCreate, AlertContactWithSecret } from './contract.ts'
import { countContacts, deleteContactRow, insertContact } from './queries.ts'
import { sealTarget } from './target.ts'

/** Each alert is told to all of them. */
const CONTACTS_MAX = 100

export const secretRow = (contactId: string): string => `alert_contacts.secret:${contactId}`

export async function createContact(
  world: World,
  by: Actor,
  { reach: { accountId }, wanted }: { reach: Reach; wanted: AlertContactCreate },
): Promise<AlertContactWithSecret> {
  const target = await checkedTarget(world, wanted)
  return world.db.transact(by, async tx => {
    await lockAccountForCap(tx, accountId)
    if ((await countContacts(tx, accountId)) >= CONTACTS_MAX) {
      throw refuse('conflict', `An account can have ${CONTACTS_MAX} alert contacts.`)
    }
    const id = newId(tx.now)
    const secret = wanted.channel === 'webhook' ? mintSigningSecret() : null
    const contact = await insertContact(tx, world.secrets, {
      id,
      accountId,
      channel: wanted.channel,
      sealedTarget: sealTarget(world.secrets, id, target),
      minSeverity: wanted.min_severity ?? 'warning',
      secret: secret && world.secrets.seal(secretRow(id), secret),
    })
    tx.audit({ accountId, target: { type: 'alert_contact', id }, after: auditable(contact) })
    return secret ? { ...contact, secret } : contact
  })
}

export function deleteContact(world: World, by: Actor, reach: Reach, id: string): Promise<void> {
  return world.db.transact(by, async tx => {
    const contact = await deleteContactRow(tx, world.secrets, reach, id)
    if (!contact) throw notFound('alert contact')
    tx.audit({ accountId: reach.accountId, target: { type: 'alert_contact', id }, before: auditable(contact) })
  })
}

async function checkedTarget({ config, dns }: World, { channel, target }: AlertContactCreate): Promise<string> {
  switch (channel) {
    case 'email': {
      const address = parseAddressOnly(target)?.address
      if (!address) throw refuse('invalid_request', 'target must be an email address.')
      return address
    }
    case 'webhook':
    case 'chat':
      return requireTarget(target, { field: 'target', dns, allowed: config.WEBHOOK_ALLOW_CIDRS })
    case 'paging':
      // Routing keys of other systems than PagerDuty have other forms.
      if (!/^[!-~]{1,200}$/.test(target)) throw refuse('invalid_request', 'target must be a routing key.')
      return target
  }
}

/** Chat URLs and routing keys open doors of their own: the audit log says that there is one, not which. */
const auditable = ({ id, channel, target, min_severity }: AlertContact): object => ({
  id,
  channel,
  target: channel === 'email' ? target : channel === 'paging' ? '…' : new URL(target).origin,
  min_severity,
})
