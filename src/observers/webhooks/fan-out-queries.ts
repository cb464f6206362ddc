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

interface AccountWork {
  account_id: string
  /** At the most: some webhooks want only some of the events. */
  rows: number
  is_behind: boolean
}

/** Accounts with events in the range and webhooks that may want them. */
export const listWork = (tx: Tx, { after, upTo }: Range): Promise<AccountWork[]> =>
  tx.many<AccountWork>(prepared`
    with kinds as materialized (
      select account_id, tenant_id, type, count(*) as events from events
      where id > ${after} and id <= ${upTo} group by account_id, tenant_id, type
    ), listening as materialized (
      select account_id, tenant_id, event_types from webhooks
      where account_id in (select account_id from kinds) and ${mayListen(after)}
    ), wanted as (
      select k.account_id, k.events
      from (select account_id, type, sum(events) as events from kinds group by account_id, type) k
        join listening w on w.account_id = k.account_id and w.tenant_id is null and ${wantsType(sql`k.type`)}
      union all
      select k.account_id, k.events
      from kinds k join listening w on w.account_id = k.account_id and w.tenant_id = k.tenant_id
        and ${wantsType(sql`k.type`)}
    )
    select account_id, sum(events)::bigint as rows,
      exists (select from webhook_backlogs b where b.account_id = wanted.account_id) as is_behind
    from wanted group by account_id`)

export const hasListeners = async (tx: Tx, accountId: string, after: number): Promise<boolean> =>
  (await tx.maybe(prepared`select 1 from webhooks where account_id = ${accountId} and ${mayListen(after)} limit 1`)) !==
  null

/** Some event behind this one may be the webhook's. */
const mayListen = (after: number): Sql => sql`(until_event_id is null or until_event_id > ${after})`

/** Without a list it wants the account's log; kinds of inboxes, which have a dot in their names, must be asked for. */
const wantsType = (type: Sql): Sql =>
  sql`(w.event_types = '{}' and strpos(${type}, '.') = 0 or ${type} = any(w.event_types))`

/** One attempt per webhook and matching event of the range, of these accounts or of all; answers how many webhooks. */
export const insertAttempts = (tx: Tx, { after, upTo }: Range, accountIds: readonly string[] | null = null) =>
  tx.run(prepared`
    with happened as materialized (
      select id, account_id, tenant_id, type from events
      where id > ${after} and id <= ${upTo} and (${accountIds}::uuid[] is null or account_id = any(${accountIds}::uuid[]))
    ), fanned as (${insertMatching(tx)})
    ${updateDueTimesOfFanned(tx)}`)

interface Slice {
  /** Null where there was no event. */
  last: number | null
  /** There may be more. */
  is_full: boolean
}

/**
 * Fans out the next events of one account: as many as write so many rows, and one at least. What can match is counted,
 * not the webhooks: a hundred for one tenant each would otherwise make slices a hundred times too small.
 */
export const insertSliceOfAttempts = (
  tx: Tx,
  accountId: string,
  { after, upTo, rowsMax }: Range & { rowsMax: number },
): Promise<Slice> => {
  // The log and the events of inboxes have an index each.
  const slice = (kind: Sql): Sql => sql`
    select id, account_id, tenant_id, type from events
    where account_id = ${accountId} and ${kind} and id > ${after} and id <= ${upTo} order by id limit ${rowsMax}`
  return tx.one<Slice>(prepared`
    with next as materialized (
      select id, account_id, tenant_id, type from (
        (${slice(sql`inbox_id is null`)}) union all (${slice(sql`inbox_id is not null`)})
      ) both_kinds order by id limit ${rowsMax}
    ), listening as materialized (
      select tenant_id, event_types from webhooks where account_id = ${accountId} and ${mayListen(after)}
    ), of_all as (
      select k.type, count(*) as listeners from (select distinct type from next) k
        join listening w on w.tenant_id is null and ${wantsType(sql`k.type`)} group by k.type
    ), of_tenant as (
      select k.tenant_id, k.type, count(*) as listeners from (select distinct tenant_id, type from next) k
        join listening w on w.tenant_id = k.tenant_id and ${wantsType(sql`k.type`)} group by k.tenant_id, k.type
    ), weighed as (
      select n.*, row_number() over in_order as ordinal,
        sum(coalesce(a.listeners, 0) + coalesce(t.listeners, 0)) over in_order as rows
      from next n left join of_all a on a.type = n.type
        left join of_tenant t on t.tenant_id = n.tenant_id and t.type = n.type
      window in_order as (order by n.id)
    ), happened as materialized (
      select id, account_id, tenant_id, type from weighed where rows <= ${rowsMax} or ordinal = 1
    ), fanned as (${insertMatching(tx)}), due_times as (${updateDueTimesOfFanned(tx)})
    select max(id) as last,
      count(*) = ${rowsMax} or count(*) < (select count(*) from next) as is_full from happened`)
}

/** Those of all tenants and those of one are joined apart, so that the latter are found by their tenant. */
const insertMatching = ({ now }: Tx): Sql => sql`
  insert into webhook_attempts (webhook_id, event_id, event_type, status, attempt, round_tries, due_at, created_at,
    updated_at)
  select webhook_id, event_id, type, 'pending', 0, 0, ${now}, ${now}, ${now}
  from (${matching(sql`w.tenant_id is null`)} union all ${matching(sql`w.tenant_id = e.tenant_id`)}) matched
  order by event_id
  on conflict do nothing
  returning webhook_id`

const matching = (tenants: Sql): Sql => sql`
  select w.id as webhook_id, e.id as event_id, e.type
  from happened e join webhooks w on w.account_id = e.account_id and ${tenants}
  where e.id > w.after_event_id and (w.until_event_id is null or e.id <= w.until_event_id) and ${wantsType(sql`e.type`)}`

/**
 * Whatever the due time says: a claim that has locked it may be about to say that nothing is due, not having seen
 * these.
 */
const updateDueTimesOfFanned = ({ now }: Tx): Sql => sql`
  update webhook_due l set due_at = least(l.due_at, ${now})
  from (select distinct webhook_id from fanned) f
  where l.webhook_id = f.webhook_id`
