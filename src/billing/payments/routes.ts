// Handlers of /v1/billing/checkout, /v1/billing/portal and /webhooks/payments.
import type { Actor } from '../../platform/db/actor.ts'
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { checkoutEndpoint, paymentEventEndpoint, portalEndpoint } from './contract.ts'
import { openCheckout, openPortal, type Payments } from './pages.ts'
import { takeEvent } from './sync.ts'

export const paymentRoutes = (world: World, payments: Payments): Route[] => [
  route(checkoutEndpoint, async ({ by, caller, body }) => {
    const { accountId } = caller.reach
    return reply(200, { url: await openCheckout(world, payments, { by, accountId, planId: body.plan_id }) })
  }),
  route(portalEndpoint, async ({ by, caller }) =>
    reply(200, { url: await openPortal(world, payments, { by, accountId: caller.reach.accountId }) }),
  ),
  route(paymentEventEndpoint, async ({ by, headers, body }) => {
    const { provider } = payments
    if (!provider) throw refuse('invalid_request', 'Payments are not configured: no signature can be checked.')
    const event = await provider.readEvent(body, headers['stripe-signature'], world.clock.now())
    await takeEvent(world, providerAs(by), event)
    return reply(200, { received: true })
  }),
]

/** What an event changes, the provider did: an assignment and a tier, each with an entry of its own. */
const providerAs = (by: Actor): Actor => ({ ...by, type: 'system', id: null, name: 'payments', action: null })
