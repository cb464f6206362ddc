// The hosted pages: a checkout for a plan, and the portal of a customer. The provider is asked outside any transaction.
import type { Actor } from '../../platform/db/actor.ts'
import { refuse, type Refusal } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { requirePlan } from '../plans/find.ts'
import type { PaymentProvider } from './provider.ts'
import { findCustomerId } from './queries.ts'

export interface Payments {
  /** Null: payments are not configured. */
  provider: PaymentProvider | null
  publicUrl: () => string
}

export async function openCheckout(
  world: World,
  { provider, publicUrl }: Payments,
  { by, accountId, planId }: { by: Actor; accountId: string; planId: string },
): Promise<string> {
  const plan = await requirePlan(world.db, planId)
  if (!plan.active) throw refuse('plan_not_purchasable', 'The plan is archived and cannot be purchased any more.')
  const priceId = plan.payment_price_id
  if (priceId === null) throw refuse('plan_not_purchasable', 'The plan has no payment price and cannot be purchased.')
  if (!provider) throw notConfigured()
  const customerId = await findCustomerId(world.db, accountId)
  const { id, url } = await provider.checkout({
    accountId,
    planId,
    priceId,
    customerId,
    returnUrl: `${publicUrl()}/`,
    idempotencyKey: `checkout-${by.requestId}`,
  })
  await auditPage(world, by, { accountId, target: { type: 'plan', id: planId }, after: { checkout_session_id: id } })
  return url
}

export async function openPortal(
  world: World,
  { provider, publicUrl }: Payments,
  { by, accountId }: { by: Actor; accountId: string },
): Promise<string> {
  const customerId = await findCustomerId(world.db, accountId)
  if (customerId === null) {
    throw refuse('no_payment_customer', 'The account has not purchased anything yet. Begin with a checkout.')
  }
  if (!provider) throw notConfigured()
  const { url } = await provider.portal({
    customerId,
    returnUrl: `${publicUrl()}/`,
    idempotencyKey: `portal-${by.requestId}`,
  })
  await auditPage(world, by, {
    accountId,
    target: { type: 'account', id: accountId },
    after: { customer_id: customerId },
  })
  return url
}

/** Who opened a page, never the page: its URL lets anybody in. */
const auditPage = (
  world: World,
  by: Actor,
  entry: { accountId: string; target: { type: string; id: string }; after: object },
): Promise<void> => world.db.transact(by, async tx => tx.audit(entry))

const notConfigured = (): Refusal =>
  refuse('not_configured', 'Payments are not configured on this installation.', { retryAfterSeconds: 3600 })
