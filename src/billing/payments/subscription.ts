// What an event of the payment provider says about a subscription, and which of two states is the newer one. Pure.
import { isUuid } from '../../platform/ids.ts'
import type { ProviderEvent } from './provider.ts'

export interface SubscriptionState {
  subscriptionId: string
  customerId: string
  status: string
  /** When it was told: seconds, as the provider counts. */
  stateAt: Date
  startedAt: Date
}

export interface Told {
  customerId: string
  /** Whose customer it is, where the event says so. */
  accountId: string | null
  priceId: string | null
  /** The plan that was bought; it may have been changed for another since. */
  boughtPlanId: string | null
  /** Null: the event tells of a customer only. */
  subscription: SubscriptionState | null
}

/** The parts of a checkout session and of a subscription that are read; an event may lack any. */
interface EventObject {
  id?: unknown
  customer?: unknown
  subscription?: unknown
  client_reference_id?: unknown
  metadata?: { account_id?: unknown; plan_id?: unknown } | null
  payment_status?: unknown
  mode?: unknown
  status?: unknown
  created?: unknown
  start_date?: unknown
  items?: { data?: { price?: { id?: unknown } | null }[] } | null
}

/** Null for events that mean nothing here. */
export function readTold(event: ProviderEvent): Told | null {
  const object = event.data.object as EventObject
  const customerId = idOf(object.customer)
  if (customerId === null) return null
  const metadata = object.metadata ?? {}
  const common = {
    customerId,
    accountId: uuidOf(metadata.account_id) ?? uuidOf(object.client_reference_id),
    boughtPlanId: uuidOf(metadata.plan_id),
  }
  const stateAt = timeOf(event.created)!
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded': {
      if (object.mode !== undefined && object.mode !== 'subscription') return null
      const subscriptionId = idOf(object.subscription)
      const isPaid = object.payment_status !== 'unpaid' || event.type.endsWith('succeeded')
      const status = isPaid ? 'active' : 'incomplete'
      return {
        ...common,
        priceId: null,
        subscription:
          subscriptionId === null ? null : { subscriptionId, customerId, status, stateAt, startedAt: stateAt },
      }
    }
    case 'customer.subscription.created':
    case 'customer.subscription.updated':
    case 'customer.subscription.deleted':
    case 'customer.subscription.paused':
    case 'customer.subscription.resumed': {
      const subscriptionId = idOf(object.id)
      if (subscriptionId === null || typeof object.status !== 'string') return null
      const status = event.type === 'customer.subscription.deleted' ? 'canceled' : object.status
      const startedAt = timeOf(object.created) ?? timeOf(object.start_date) ?? stateAt
      return {
        ...common,
        priceId: idOf(object.items?.data?.[0]?.price?.id),
        subscription: { subscriptionId, customerId, status, stateAt, startedAt },
      }
    }
    default:
      return null
  }
}

/** In the order of a life: of two states of one second the later one is believed. */
const LIFE = ['incomplete', 'trialing', 'active', 'past_due', 'unpaid', 'paused', 'incomplete_expired', 'canceled']
const ENDED = new Set(['incomplete_expired', 'canceled'])
/** While payment is retried the plan stays; when it was given up, it does not. */
const LIVE = new Set(['trialing', 'active', 'past_due'])

type Timed = Pick<SubscriptionState, 'status' | 'stateAt'>

/** Events come in any order. A subscription that has ended does not come back: another one is made. */
export function supersedes(told: Timed, known: Timed): boolean {
  if (ENDED.has(known.status)) return false
  if (ENDED.has(told.status)) return true
  const laterMs = told.stateAt.getTime() - known.stateAt.getTime()
  return laterMs > 0 || (laterMs === 0 && LIFE.indexOf(told.status) >= LIFE.indexOf(known.status))
}

export const isLive = ({ status }: { status: string }): boolean => LIVE.has(status)

/** An id, or the object that has it: the provider may send either. */
function idOf(value: unknown): string | null {
  const id = typeof value === 'object' && value !== null ? (value as { id?: unknown }).id : value
  return typeof id === 'string' && id !== '' && id.length <= 255 ? id : null
}

const uuidOf = (value: unknown): string | null => (isUuid(value) ? value : null)

/** Up to the year 9999. */
const SECONDS_MAX = 253_402_300_799

const timeOf = (seconds: unknown): Date | null =>
  typeof seconds === 'number' && seconds >= 0 && seconds <= SECONDS_MAX ? new Date(seconds * 1000) : null
