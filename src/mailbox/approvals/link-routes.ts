// Handlers of the links of approvals. Each answer is a page, also where there is nothing to decide.
import type { Actor } from '../../platform/db/actor.ts'
import { reply, route, type Route } from '../../platform/http/contract.ts'
import type { World } from '../../platform/world.ts'
import { approvalPageEndpoint, approveByLinkEndpoint, rejectByLinkEndpoint } from './link-contract.ts'
import { decidedPage, expiredPage, offPage, pendingPage, unknownPage } from './link-page.ts'
import { decideByLink, openLink, type Decision, type Linking } from './open-link.ts'

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
