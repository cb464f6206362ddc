// All SQL over customers, subscriptions and events of the payment provider; the only writer of those tables.
import type { Db, Tx } from '../../platform/db/database.ts'
import { locks, takeLock } from '../../platform/db/locks.ts'
import { sql } from '../../platform/db/sql.ts'
import type { SubscriptionState } from './subscription.ts'

/** Events are few, and what one finds depends on those before it: they are processed one after the other. */
export const lockPayments = (tx: Tx): Promise<void> => takeLock(tx, locks.payments)

/** The provider repeats an event for days, and on request for a month. */
const EVENT_DAYS_KEPT = 90
const FORGOTTEN_AT_ONCE = 100

/** False when it was processed before. Takes away a few that are too old to come again. */
export async function insertEvent(tx: Tx, event: { id: string }): Promise<boolean> {
  await tx.run(sql`
    delete from payment_events where id in (
      select id from payment_events
      where received_at < ${tx.now}::timestamptz - ${EVENT_DAYS_KEPT} * interval '1 day'
      order by received_at limit ${FORGOTTEN_AT_ONCE})`)
  const inserted = await tx.run(sql`
    insert into payment_events (id, received_at) values (${event.id}, ${tx.now})
    on conflict (id) do nothing`)
  return inserted === 1
}

/** The newest: an account has several when checkouts were completed side by side. */
export const findCustomerId = (db: Db, accountId: string): Promise<string | null> =>
  db.maybeValue<string>(sql`
    select customer_id from payment_customers where account_id = ${accountId}
    order by created_at desc, customer_id limit 1`)

export const findCustomerAccountIdAnywhere = (db: Db, customerId: string): Promise<string | null> =>
  db.maybeValue<string>(sql`select account_id from payment_customers where customer_id = ${customerId}`)

export const insertCustomer = (tx: Tx, { customerId, accountId }: { customerId: string; accountId: string }) =>
  tx.run(sql`
    insert into payment_customers (customer_id, account_id, created_at)
    values (${customerId}, ${accountId}, ${tx.now}) on conflict (customer_id) do nothing`)

export interface KnownState extends Pick<SubscriptionState, 'status' | 'stateAt' | 'startedAt'> {
  planId: string | null
  /** When the price was told that the plan is known by. */
  pricedAt: Date | null
}

const known = sql`status, state_at as "stateAt", started_at as "startedAt", plan_id as "planId", priced_at as "pricedAt"`

export const findSubscriptionAnywhere = (db: Db, subscriptionId: string): Promise<KnownState | null> =>
  db.maybe<KnownState>(sql`select ${known} from payment_subscriptions where subscription_id = ${subscriptionId}`)

/** A payment does not tell when its subscription was made, which was before it: the earliest time that was told counts. */
export const upsertSubscription = (tx: Tx, told: SubscriptionState & Pick<KnownState, 'planId' | 'pricedAt'>) =>
  tx.run(sql`
    insert into payment_subscriptions (subscription_id, customer_id, plan_id, priced_at, status, state_at, started_at)
    values (${told.subscriptionId}, ${told.customerId}, ${told.planId}, ${told.pricedAt}, ${told.status}, ${told.stateAt},
      ${told.startedAt})
    on conflict (subscription_id) do update
    set plan_id = excluded.plan_id, priced_at = excluded.priced_at, status = excluded.status, state_at = excluded.state_at,
      started_at = least(payment_subscriptions.started_at, excluded.started_at)`)

/** Those that were told of before it was known whose they are. */
export const adoptSubscriptions = (tx: Tx, { customerId, accountId }: { customerId: string; accountId: string }) =>
  tx.run(sql`
    update payment_subscriptions set account_id = ${accountId}
    where customer_id = ${customerId} and account_id is null`)

/** The newest first. */
export const listSubscriptions = (db: Db, accountId: string): Promise<KnownState[]> =>
  db.many<KnownState>(sql`
    select ${known} from payment_subscriptions where account_id = ${accountId}
    order by started_at desc, subscription_id desc limit 1000`)
