// What a link still opens: the mail that waits, or why there is nothing to decide. Links are opened by people and by the
// programs that check their mail, so opening one changes nothing.
import type { Actor } from '../../platform/db/actor.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import type { Composing } from '../compose/composing.ts'
import { approve } from './approve.ts'
import type { EmailContact } from './contact-person.ts'
import { isSigned, readLink } from './link.ts'
import { findLinkedApprovalAnywhere, type LinkedApproval } from './queries.ts'
import { reject } from './reject.ts'

export interface Linking {
  composing: Composing
  emailContact: EmailContact
}

type Opened =
  | { kind: 'pending' | 'decided' | 'expired'; approval: LinkedApproval; contact: { id: string; address: string } }
  /** Made up, altered, of another mail or of a contact that was removed or is no person. */
  | { kind: 'unknown' }
  /** The account no longer wants links. */
  | { kind: 'off' }

export async function openLink(world: World, emailContact: EmailContact, token: string): Promise<Opened> {
  const named = readLink(token)
  const approval = named && (await findLinkedApprovalAnywhere(world.db, named.approvalId))
  if (!approval || !isSigned(world.secrets, token, { named, bound: approval })) return { kind: 'unknown' }
  const address = await emailContact({ accountId: approval.account_id, contactId: named.contactId })
  if (address === null) return { kind: 'unknown' }
  const contact = { id: named.contactId, address }
  if (approval.status !== 'pending') return { kind: 'decided', approval, contact }
  if (!approval.has_links) return { kind: 'off' }
  return { kind: approval.expires_at > world.clock.now() ? 'pending' : 'expired', approval, contact }
}

export type Decision = 'approve' | 'reject'

/** What came of it, and how the link stands now. `refusal`: why the mail could not leave; the approval is still pending. */
export async function decideByLink(
  world: World,
  { composing, emailContact }: Linking,
  { token, decision, by }: { token: string; decision: Decision; by: Actor },
): Promise<{ opened: Opened; isDecidedNow: boolean; refusal: Refusal | null }> {
  const opened = await openLink(world, emailContact, token)
  if (opened.kind !== 'pending') return { opened, isDecidedNow: false, refusal: null }
  const { approval, contact } = opened
  const actor: Actor = { ...by, type: 'contact', id: contact.id, name: contact.address }
  const reach = { accountId: approval.account_id, tenantId: null, inboxId: null }
  let refusal: Refusal | null = null
  try {
    if (decision === 'approve')
      await approve(world, composing, { by: actor, caller: { reach, keyId: null }, id: approval.id })
    else await reject(world, actor, { reach, id: approval.id })
  } catch (error) {
    if (!(error instanceof Refusal) || error.status >= 500) throw error
    refusal = error
  }
  const now = await openLink(world, emailContact, token)
  return { opened: now, isDecidedNow: refusal === null, refusal: now.kind === 'pending' ? refusal : null }
}
