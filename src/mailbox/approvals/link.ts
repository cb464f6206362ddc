// The link by which an alert contact decides about one approval. It names both, and its code covers what would be sent and
// until when: a link that was made up, altered or made for another mail does not open.
import { idFromBytes, idToBytes } from '../../platform/ids.ts'
import { sameBytes, type Secrets } from '../../platform/secrets.ts'
import type { World } from '../../platform/world.ts'
import type { EmailContact } from './contact-person.ts'
import { findLinkedApprovalAnywhere } from './queries.ts'

interface Named {
  approvalId: string
  contactId: string
}

interface Bound {
  content_hash: Buffer
  expires_at: Date
}

const ID_BYTES = 16
const CODE_BYTES = 32

/** Ids and code as base64url: 86 characters. */
function signLink(secrets: Secrets, named: Named, bound: Bound): string {
  const ids = Buffer.concat([idToBytes(named.approvalId), idToBytes(named.contactId)])
  const covered = Buffer.concat([ids, bound.content_hash, Buffer.from(bound.expires_at.toISOString())])
  return Buffer.concat([ids, secrets.mac('approval-link', covered)]).toString('base64url')
}

/** Whom and what the link names, which proves nothing yet; null when it has not the form of one. */
export function readLink(token: string): Named | null {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== 2 * ID_BYTES + CODE_BYTES) return null
  return {
    approvalId: idFromBytes(bytes.subarray(0, ID_BYTES)),
    contactId: idFromBytes(bytes.subarray(ID_BYTES, 2 * ID_BYTES)),
  }
}

/** In one writing only, so that a link has no second form. */
export const isSigned = (secrets: Secrets, token: string, { named, bound }: { named: Named; bound: Bound }): boolean =>
  sameBytes(Buffer.from(token), Buffer.from(signLink(secrets, named, bound)))

interface Links {
  publicUrl: () => string
  emailContact: EmailContact
}

/** The link for a contact; null when the approval no longer waits, or the contact is no person. */
export const approvalLinks =
  ({ db, secrets, clock }: World, { publicUrl, emailContact }: Links) =>
  async (
    approvalId: string,
    contactId: string,
  ): Promise<{ url: string; inboxAddress: string; expiresAt: Date } | null> => {
    const base = publicUrl()
    // Tried again, by a process that knows it or after the operator has said it.
    if (base === '') throw new Error('PUBLIC_URL is not set, so there is no address to link to.')
    const approval = await findLinkedApprovalAnywhere(db, approvalId)
    if (!approval || approval.status !== 'pending' || approval.expires_at <= clock.now()) return null
    if ((await emailContact({ accountId: approval.account_id, contactId })) === null) return null
    const token = signLink(secrets, { approvalId, contactId }, approval)
    return {
      url: `${base}/approval-links/${token}`,
      inboxAddress: approval.inbox_address,
      expiresAt: approval.expires_at,
    }
  }
