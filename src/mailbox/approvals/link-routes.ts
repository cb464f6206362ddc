// The links of approvals. Each answer is a page, also where there is nothing to decide. Links are opened by people and by the
// programs that check their mail, so opening one changes nothing.
import type { Actor } from '../../platform/db/actor.ts'
import { reply, route, type Route } from '../../platform/http/contract.ts'
import type { World } from '../../platform/world.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { Composing } from '../compose/composing.ts'
import { approvalPageEndpoint, approveByLinkEndpoint, rejectByLinkEndpoint } from './contract.ts'
import { decidedPage, expiredPage, offPage, pendingPage, unknownPage } from './link-page.ts'
import { approve } from './approve.ts'
import type { EmailContact } from './contact-person.ts'
import { isSigned, readLink } from './link.ts'
import { findLinkedApprovalAnywhere, type LinkedApproval } from './queries.ts'
import { reject } from './reject.ts'

/** No script, no request to anywhere: neither the page nor the mail in its frame, which inherits the policy. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
}

export const linkRoutes = (world: World, linking: Linking): Route[] => {
  const decide = async (token: string, decision: Decision, by: Actor) => {
    const { opened, isDecidedNow, refusal } = await decideByLink(world, linking, { token, decision, by })
    if (refusal === null || opened.kind !== 'pending')
      return answer(opened, { forms: '', statusOfDecided: isDecidedNow ? 200 : 410 })
    const { retryAfterSeconds: seconds } = refusal
    const headers = seconds === null ? HEADERS : { ...HEADERS, 'retry-after': String(seconds) }
    const page = pendingPage(opened.approval, { forms: '', refusal: refusal.message })
    return reply(refusal.status as 403 | 409 | 422 | 429, page, headers)
  }
  return [
    route(approvalPageEndpoint, async ({ params: { token } }) =>
      answer(await openLink(world, linking.emailContact, token), { forms: `${token}/`, statusOfDecided: 410 }),
    ),
    route(approveByLinkEndpoint, ({ params: { token }, by }) => decide(token, 'approve', by)),
    route(rejectByLinkEndpoint, ({ params: { token }, by }) => decide(token, 'reject', by)),
  ]
}

interface Answering {
  forms: string
  /** 200 for who has just made the decision; for everybody else the link is used up. */
  statusOfDecided: 200 | 410
}

function answer(opened: Awaited<ReturnType<typeof openLink>>, { forms, statusOfDecided }: Answering) {
  switch (opened.kind) {
    case 'pending':
      return reply(200, pendingPage(opened.approval, { forms, refusal: null }), HEADERS)
    case 'decided':
      return reply(statusOfDecided, decidedPage(opened.approval), HEADERS)
    case 'expired':
      return reply(410, expiredPage(opened.approval), HEADERS)
    case 'off':
      return reply(410, offPage(), HEADERS)
    case 'unknown':
      return reply(404, unknownPage(), HEADERS)
  }
}

interface Linking {
  composing: Composing
  emailContact: EmailContact
}

type Opened =
  | { kind: 'pending' | 'decided' | 'expired'; approval: LinkedApproval; contact: { id: string; address: string } }
  /** Made up, altered, of another mail or of a contact that was removed or is no person. */
  | { kind: 'unknown' }
  /** The account no longer wants links. */
  | { kind: 'off' }

async function openLink(world: World, emailContact: EmailContact, token: string): Promise<Opened> {
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

type Decision = 'approve' | 'reject'

/** What came of it, and how the link stands now. `refusal`: why the mail could not leave; the approval is still pending. */
async function decideByLink(
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
