// The SQL of the fan-out: who has how much to do, the attempts themselves, and the backlog.
import type { Tx } from '../../platform/db/database.ts'
import { prepared, sql, type Sql } from '../../platform/db/sql.ts'

interface Range {
  after: number
  upTo: number
}

export const findFanOutState = (tx: Tx): Promise<{ has_webhooks: boolean; has_backlogs: boolean }> =>
  tx.one(prepared`
    select exists (select from webhooks) as has_webhooks, exists (select from webhook_backlogs) as has_backlogs`)

export interface AccountWork {
  account_id: string
  /** At the most: some webhooks want only some of the events. */
  rows: number
  is_behind: boolean
}

/** Accounts with events in the range and webhooks that may want them. */
export const listWork = (tx: Tx, { after, upTo }: Range): Promise<AccountWork[]> =>
  tx.many<AccountWork>(prepared`
    with happened as materialized (
      select account_id, count(*) as events from events where id > ${after} and id <= ${upTo} group by account_id
    )
    select h.account_id, h.events * w.listeners as rows,
      exists (select from webhook_backlogs b where b.account_id = h.account_id) as is_behind
    from happened h cross join lateral (${listeners(sql`h.account_id`, after)}) w
    where w.listeners > 0`)

export const countListeners = async (tx: Tx, accountId: string, after: number): Promise<number> =>
  (await tx.one<{ listeners: number }>(prepared`${listeners(sql`${accountId}`, after)}`)).listeners

const listeners = (accountId: Sql, after: number): Sql => sql`
  select count(*) as listeners from webhooks
  where account_id = ${accountId} and (until_event_id is null or until_event_id > ${after})`

/** One attempt per webhook and matching event of the range, of these accounts or of all; answers how many webhooks. */
export const insertAttempts = (
  tx: Tx,
  { after, upTo }: Range,
  accountIds: readonly string[] | null = null,
): Promise<number> =>
  tx.run(prepared`
    with happened as materialized (
      select id, account_id, tenant_id, type from events
      where id > ${after} and id <= ${upTo} and (${accountIds}::uuid[] is null or account_id = any(${accountIds}::uuid[]))
    ), fanned as (${insertMatching(tx)})
    ${updateLanesOfFanned(tx)}`)

export interface Slice {
  events: number
  /** Null where there was none. */
  last: number | null
}

/** As above for the next events of one account. */
export const insertSliceOfAttempts = (
  tx: Tx,
  accountId: string,
  { after, upTo, eventsMax }: Range & { eventsMax: number },
): Promise<Slice> =>
  tx.one<Slice>(prepared`
    with happened as materialized (
      select id, account_id, tenant_id, type from events
      where account_id = ${accountId} and id > ${after} and id <= ${upTo} order by id limit ${eventsMax}
    ), fanned as (${insertMatching(tx)}), lanes as (${updateLanesOfFanned(tx)})
    select count(*) as events, max(id) as last from happened`)

const insertMatching = ({ now }: Tx): Sql => sql`
  insert into webhook_attempts (webhook_id, event_id, event_type, status, attempt, round_tries, due_at, created_at,
    updated_at)
  select w.id, e.id, e.type, 'pending', 0, 0, ${now}, ${now}, ${now}
  from happened e join webhooks w on w.account_id = e.account_id
  where e.id > w.after_event_id and (w.until_event_id is null or e.id <= w.until_event_id)
    and (w.tenant_id is null or w.tenant_id = e.tenant_id)
    and (w.event_types = '{}' or e.type = any(w.event_types))
  order by e.id
  on conflict do nothing
  returning webhook_id`

/** Whatever a lane says: a claim that holds it may be about to say that nothing is due, not having seen these. */
const updateLanesOfFanned = ({ now }: Tx): Sql => sql`
  update webhook_lanes l set due_at = least(l.due_at, ${now})
  from (select distinct webhook_id from fanned) f
  where l.webhook_id = f.webhook_id`

/** Only the tail puts accounts here and takes them away, under the lock of its cursor. */
export const insertBacklogs = (tx: Tx, accountIds: readonly string[], after: number): Promise<number> =>
  tx.run(prepared`
    insert into webhook_backlogs (account_id, cursor, served_at)
    select account_id, ${after}, ${tx.now} from unnest(${accountIds}::uuid[]) as account_id`)

/** Of accounts that have caught up with the tail. One that is having a slice now stays: its cursor may be moving. */
export const deleteSettledBacklogs = (tx: Tx, after: number): Promise<number> =>
  tx.run(prepared`
    delete from webhook_backlogs where account_id in (
      select account_id from webhook_backlogs where cursor >= ${after} for update skip locked)`)

export interface Backlog {
  account_id: string
  cursor: number
  up_to: number
}

/**
 * The account that has waited longest, locked. While the row stands the tail leaves the account's events alone, so they
 * are the slices' up to where the tail has come.
 */
export const claimBacklog = (tx: Tx, tail: string): Promise<Backlog | null> =>
  tx.maybe<Backlog>(prepared`
    select b.account_id, b.cursor, t.cursor as up_to
    from webhook_backlogs b join tails t on t.name = ${tail} and t.cursor > b.cursor
    order by b.served_at, b.account_id limit 1 for update of b skip locked`)

export const updateBacklog = (tx: Tx, accountId: string, cursor: number): Promise<number> =>
  tx.run(prepared`
    update webhook_backlogs set cursor = ${cursor}, served_at = ${tx.now} where account_id = ${accountId}`)
