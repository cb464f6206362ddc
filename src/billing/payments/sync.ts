// Keeping plan and tier of an account in step with what its customer pays for. Every event is processed once, in any order.
import { findAccountAnywhere } from '../../identity/accounts/find.ts'
import { updateAccountIn } from '../../identity/accounts/update.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import { assignIn } from '../assignments/assign.ts'
import { findPaidPlanId } from '../assignments/effective.ts'
import { findPlanByPrice, listPlansById } from '../plans/find.ts'
import type { ProviderEvent } from './provider.ts'
import * as queries from './queries.ts'
import type { KnownState } from './queries.ts'
import { isLive, readTold, supersedes, type SubscriptionState, type Told } from './subscription.ts'

const TIER_FREE = 'free'
/** As long as a tier may be. */
const TIER_CHARS_MAX = 64

type Outcome = 'applied' | 'repeated' | 'ignored' | 'unknown_customer' | 'unknown_price'

export async function takeEvent(world: World, by: Actor, event: ProviderEvent): Promise<void> {
  const outcome = await world.db.transact(by, tx => applyEvent(tx, event))
  const fields = { event: event.id, type: event.type, outcome }
  if (outcome.startsWith('unknown')) world.log.warn(fields, 'an event of the payment provider fits nobody')
  else world.log.info(fields, 'event of the payment provider')
}

async function applyEvent(tx: Tx, event: ProviderEvent): Promise<Outcome> {
  await queries.lockPayments(tx)
  if (!(await queries.insertEvent(tx, event))) return 'repeated'
  const told = readTold(event)
  if (!told) return 'ignored'
  await noteState(tx, told)
  const accountId = await accountOf(tx, told)
  if (accountId === null) return 'unknown_customer'
  await queries.adoptSubscriptions(tx, { customerId: told.customerId, accountId })
  return settle(tx, accountId)
}

/** Whose customer it is: as known, or as the event says, which is then remembered. */
async function accountOf(tx: Tx, { customerId, accountId }: Told): Promise<string | null> {
  const known = await queries.findCustomerAccountIdAnywhere(tx, customerId)
  if (known !== null) return known
  if (accountId === null || !(await findAccountAnywhere(tx, accountId))) return null
  await queries.insertCustomer(tx, { customerId, accountId })
  return accountId
}

/** Also of customers that nobody knows yet: the event that says whose they are may come last. */
async function noteState(tx: Tx, told: Told): Promise<void> {
  const { subscription } = told
  if (!subscription) return
  const known = await queries.findSubscriptionAnywhere(tx, subscription.subscriptionId)
  const state = known && !supersedes(subscription, known) ? known : subscription
  const plan = await planOf(tx, told, known)
  await queries.upsertSubscription(tx, { ...subscription, status: state.status, stateAt: state.stateAt, ...plan })
}

/**
 * The newest price that was told decides, however late it is told: a payment tells none, and may be told first. Where no plan
 * has it any more, the plan stays; before any price is known, it is the plan that was bought.
 */
async function planOf(tx: Tx, { priceId, boughtPlanId, subscription }: Told, known: KnownState | null) {
  const sold = priceId === null ? null : await findPlanByPrice(tx, priceId)
  if (sold && (!known?.pricedAt || isPricedLater(subscription!, known))) {
    return { planId: sold.id, pricedAt: subscription!.stateAt }
  }
  if (known && known.planId !== null) return { planId: known.planId, pricedAt: known.pricedAt }
  const [bought] = boughtPlanId === null ? [] : await listPlansById(tx, [boughtPlanId])
  return { planId: bought?.id ?? null, pricedAt: null }
}

/** Of prices of one second, the one of the later state is believed. */
function isPricedLater(told: SubscriptionState, known: KnownState): boolean {
  const laterMs = told.stateAt.getTime() - known.pricedAt!.getTime()
  return laterMs > 0 || (laterMs === 0 && supersedes(told, known))
}

/** The newest live subscription says the plan. What payments have assigned already is not assigned again. */
async function settle(tx: Tx, accountId: string): Promise<Outcome> {
  const live = (await queries.listSubscriptions(tx, accountId)).filter(isLive)
  const planId = live.find(subscription => subscription.planId !== null)?.planId ?? null
  if (planId === null && live.length > 0) return 'unknown_price'
  if (planId === (await findPaidPlanId(tx, accountId))) return 'applied'
  await assignIn(tx, { accountId, tenantId: null, planId, effectiveFrom: null, source: 'payment' })
  const [plan] = planId === null ? [] : await listPlansById(tx, [planId])
  await updateAccountIn(tx, accountId, { tier: plan ? tierOf(plan.name) : TIER_FREE })
  return 'applied'
}

const tierOf = (name: string): string => Array.from(name.trim()).slice(0, TIER_CHARS_MAX).join('')
