// Creating an inbox: an address on a domain of its tenant that takes mail in, with its system folders. And inboxes that lost
// their domain, which have it again once their tenant has registered it anew.
import { lockAccountForCap } from '../../identity/accounts/cap.ts'
import { requireInboundDomain } from '../../identity/domains/inbound-ready.ts'
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { parseAddressOnly } from '../../mail/address/address.ts'
import type { AttachInboxes } from '../../identity/domains/inbound.ts'
import { createSystemFolders } from '../folders/system.ts'
import type { InboxCreate } from './contract.ts'
import type { Inbox } from './inbox-schema.ts'
import { auditIn } from './lock.ts'
import { checkMetadata } from './metadata.ts'
import { mergePolicy, policyOf, type Policy } from './policy.ts'
import { presentInbox } from './present.ts'
import {
  countInboxes,
  insertInbox,
  updateInboxDetached,
  updateInboxesAttached,
  updateInboxesDetached,
} from './queries.ts'

/** What one account may cost in rows that every start of its lists reads past. */
const INBOXES_MAX = 10_000

interface InboxOrder {
  reach: Reach
  tenantId: string
  wanted: InboxCreate
}

export function createInbox(world: World, by: Actor, { reach, tenantId, wanted }: InboxOrder): Promise<Inbox> {
  return world.db.transact(by, async tx => {
    await requireTenantInReach(tx, reach, tenantId)
    const domain = await requireInboundDomain(tx, { reach, tenantId, id: wanted.domain_id })
    const localPart = readLocalPart(wanted.local_part, domain.name)
    checkMetadata(wanted.metadata ?? {})
    return createInboxIn(tx, {
      accountId: reach.accountId,
      tenantId: domain.tenant_id,
      domainId: domain.id,
      address: `${localPart}@${domain.name}`,
      displayName: wanted.display_name ?? null,
      policy: mergePolicy(policyOf({}), wanted.policy ?? {}),
      metadata: wanted.metadata ?? {},
    })
  })
}

interface NewInbox {
  accountId: string
  tenantId: string
  /** Null: it receives nothing by SMTP. */
  domainId: string | null
  /** In lower case. */
  address: string
  displayName: string | null
  policy?: Policy
  metadata?: Record<string, unknown>
}

/** As part of a larger transaction. The address was checked. */
export async function createInboxIn(tx: Tx, wanted: NewInbox): Promise<Inbox> {
  await lockAccountForCap(tx, wanted.accountId)
  if ((await countInboxes(tx, wanted.accountId)) >= INBOXES_MAX) {
    throw refuse('conflict', `An account may have ${INBOXES_MAX} inboxes. Delete one first.`)
  }
  await updateInboxDetached(tx, wanted.address)
  const stored = await insertInbox(tx, {
    id: newId(tx.now),
    account_id: wanted.accountId,
    tenant_id: wanted.tenantId,
    domain_id: wanted.domainId,
    address: wanted.address,
    local_part: wanted.address.slice(0, wanted.address.lastIndexOf('@')),
    display_name: wanted.displayName,
    status: 'active',
    policy: wanted.policy ?? policyOf({}),
    metadata: wanted.metadata ?? {},
    provider: 'native',
    created_at: tx.now,
  })
  if (!stored) throw refuse('conflict', 'An inbox with this address exists already.')
  await createSystemFolders(tx, stored.id)
  const inbox = presentInbox(stored)
  auditIn(tx, stored, { action: 'inbox.create', after: inbox })
  return inbox
}

/** In lower case: `Info@` and `info@` reach the same inbox. */
function readLocalPart(given: string, domain: string): string {
  const local = given.trim().toLowerCase()
  if (/[^\0-\x7f]/.test(local)) {
    throw refuse('invalid_request', 'body.local_part must be ASCII: most mail servers cannot deliver to other names.')
  }
  if (local.includes('+')) {
    throw refuse('invalid_request', 'body.local_part must not contain +: mail to name+tag@ reaches the inbox name@.')
  }
  const address = local.startsWith('"') ? null : parseAddressOnly(`${local}@${domain}`)
  if (address?.local !== local || local.includes('@')) {
    throw refuse(
      'invalid_request',
      "body.local_part must be letters, digits and !#$%&'*/=?^_`{|}~- in words parted by dots, at most 64 characters.",
    )
  }
  return local
}

export const attachInboxes: AttachInboxes = async (tx, domain) => {
  await updateInboxesDetached(tx, domain.name)
  await updateInboxesAttached(tx, domain)
}
