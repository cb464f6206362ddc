// Payments: a hosted checkout and a hosted portal are reached by URL; what happens there is told by signed events.
import { anyone, key, post } from '../../platform/http/contract.ts'
import { NamedObject, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

const Hosted = NamedObject('HostedPage', { url: Type.String({ format: 'uri' }) })

export const checkoutEndpoint = post('/v1/billing/checkout', {
  summary:
    'A hosted checkout page for a plan; the plan is assigned when the payment provider tells that it was completed',
  access: key('admin'),
  body: NamedObject('Checkout', { plan_id: Uuid() }),
  replies: { 200: Hosted },
  refusals: ['not_found', 'plan_not_purchasable', 'not_configured'],
  audit: 'payment.checkout',
})

export const portalEndpoint = post('/v1/billing/portal', {
  summary: 'A hosted page on which the account changes or ends its subscription',
  access: key('admin'),
  replies: { 200: Hosted },
  refusals: ['no_payment_customer', 'not_configured'],
  audit: 'payment.portal',
})

export const paymentEventEndpoint = post('/webhooks/payments', {
  summary:
    'An event of the payment provider, signed over the raw body. Events that were processed or mean nothing here are 200 too',
  access: anyone,
  headers: Type.Object({ 'stripe-signature': Type.Optional(Type.String()) }),
  takesRawBody: true,
  replies: { 200: Type.Object({ received: Type.Boolean() }) },
  audit: 'payment.sync',
})
