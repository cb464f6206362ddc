// The SQL of the work itself: claiming what is due, keeping leases, recording results.
import type { Tx } from '../../platform/db/database.ts'
import { isLookedUpBy } from '../../platform/db/planner.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import type { JournalEvent } from '../../platform/journal/read.ts'
import { isAsked, type KeysAsked } from '../../platform/work/leased-work.ts'

interface DueWebhook {
  webhook_id: string
  account_id: string
}

/**
 * Webhooks with something due, those that were claimed from the longest ago first, locked until the transaction ends: one
 * claim at a time per webhook. What is committed before the lock is seen by the statement after it; what comes later sets
 * its due time again.
 */
export const lockDueWebhooks = (tx: Tx, { asked, limit }: { asked: KeysAsked; limit: number }): Promise<DueWebhook[]> =>
  tx.alongIndexes.many<DueWebhook>(prepared`
    select l.webhook_id, w.account_id from webhook_due l join webhooks w on w.id = l.webhook_id
    where l.due_at <= ${tx.now} and ${isAsked(asked, { key: sql`l.webhook_id`, account: sql`w.account_id` })}
    order by l.due_at limit ${limit} for update of l skip locked`)

interface Share {
  webhookId: string
  attemptsMax: number
}

export interface ClaimedRow {
  webhook_id: string
  /** The account whose webhook it is. */
  owner_id: string
  event_id: number
  event_type: string
  attempt: number
  round_tries: number
  /** When it was due before it was leased. */
  was_due_at: Date
  /** Null when the event is no longer stored. */
  event: JournalEvent | null
}

type FlatRow = Omit<ClaimedRow, 'event'> & { [Name in keyof JournalEvent]: JournalEvent[Name] | null }

/** The next of each webhook that is active, as many as it may have, leased to this worker. */
export async function claimAttempts(
  tx: Tx,
  { webhooks, leaseToken, leaseUntil }: { webhooks: readonly Share[]; leaseToken: string; leaseUntil: Date },
): Promise<ClaimedRow[]> {
  const rows = await tx.alongIndexes.many<FlatRow>(prepared`
    with due as (
      select due.webhook_id, due.attempts_max, w.account_id as owner_id
      from unnest(${webhooks.map(each => each.webhookId)}::uuid[], ${webhooks.map(each => each.attemptsMax)}::integer[])
        as due (webhook_id, attempts_max)
      join webhooks w on w.id = due.webhook_id and w.status = 'active'
    ), next as (
      select waiting.*, due.owner_id from due cross join lateral (
        select webhook_id, event_id, due_at from webhook_attempts a
        where a.webhook_id = due.webhook_id and a.status in ('pending', 'failed') and a.due_at <= ${tx.now}
        order by a.due_at, a.event_id limit due.attempts_max for update skip locked
      ) waiting
    ), taken as (
      update webhook_attempts a set lease_token = ${leaseToken}, due_at = ${leaseUntil}
      from next where ${isLookedUpBy(sql`a.webhook_id`, sql`next.webhook_id`)} and a.event_id = next.event_id
      returning a.webhook_id, a.event_id, a.event_type, a.attempt, a.round_tries, next.owner_id,
        next.due_at as was_due_at
    )
    select taken.*, e.id, e.type, e.account_id, e.tenant_id, e.message_id, e.recipient, e.inbox_id, e.created_at, e.data
    from taken left join events e on e.id = taken.event_id
    order by taken.webhook_id, taken.was_due_at, taken.event_id`)
  return rows.map(toClaimed)
}

function toClaimed({
  id,
  type,
  account_id,
  tenant_id,
  message_id,
  recipient,
  inbox_id,
  created_at,
  data,
  ...row
}: FlatRow) {
  const event = { id, type, account_id, tenant_id, message_id, recipient, inbox_id, created_at, data }
  return { ...row, event: id === null ? null : (event as JournalEvent) }
}

/**
 * When each of these webhooks, whose due times we have locked, has something due next; null where nothing is or may be
 * done. One with more that is due now goes to the end of the line: its oldest attempt would keep it before all others
 * for ever.
 */
export const updateDueTimes = (tx: Tx, webhookIds: readonly string[]): Promise<number> =>
  tx.alongIndexes.run(prepared`
    update webhook_due l set due_at = (
      select greatest(a.due_at, ${tx.now})
      from webhook_attempts a join webhooks w on w.id = a.webhook_id and w.status = 'active'
      where a.webhook_id = l.webhook_id and a.status in ('pending', 'failed')
      order by a.due_at limit 1)
    where l.webhook_id = any(${webhookIds}::uuid[])`)

type Lease = Pick<ClaimedRow, 'webhook_id' | 'event_id'> & { leaseToken: string }

/** Between the attempts as `a` and leases as `o`. */
const isOurs = sql`${isLookedUpBy(sql`a.webhook_id`, sql`o.webhook_id`)} and a.event_id = o.event_id
      and a.lease_token = o.lease_token`

export const extendLeases = (tx: Tx, leases: readonly Lease[], leaseUntil: Date): Promise<number> =>
  tx.alongIndexes.run(prepared`
    update webhook_attempts a set due_at = ${leaseUntil}
    from unnest(${leases.map(each => each.webhook_id)}::uuid[], ${leases.map(each => each.event_id)}::bigint[],
      ${leases.map(each => each.leaseToken)}::uuid[]) as o (webhook_id, event_id, lease_token)
    where ${isOurs}`)

/** Gives back what was claimed and not tried, to where it stood in the order. */
export const releaseLeases = (tx: Tx, leases: readonly (Lease & Pick<ClaimedRow, 'was_due_at'>)[]): Promise<number> =>
  tx.alongIndexes.run(prepared`
    with released as (
      update webhook_attempts a set due_at = o.due_at, lease_token = null
      from unnest(${leases.map(each => each.webhook_id)}::uuid[], ${leases.map(each => each.event_id)}::bigint[],
        ${leases.map(each => each.leaseToken)}::uuid[], ${leases.map(each => each.was_due_at)}::timestamptz[])
        as o (webhook_id, event_id, lease_token, due_at)
      where ${isOurs}
      returning a.webhook_id, a.due_at
    )
    update webhook_due l set due_at = least(l.due_at, greatest(r.due_at, ${tx.now}))
    from (select webhook_id, min(due_at) as due_at from released group by webhook_id) r
    where l.webhook_id = r.webhook_id`)

export type Tried = Lease & {
  status: 'delivered' | 'failed' | 'dead'
  /** 0 where there was nothing left to push. */
  tries: 0 | 1
  dueAt: Date | null
  responseStatus: number | null
  error: string | null
  latencyMs: number
}

/** Only rows whose lease is still ours change, and only those are answered: a late worker records nothing. */
export const recordTried = (tx: Tx, tried: readonly Tried[]): Promise<{ webhook_id: string; event_id: number }[]> =>
  tx.alongIndexes.many(prepared`
    with recorded as (
      update webhook_attempts a
      set status = o.status, due_at = o.due_at, lease_token = null, attempt = attempt + o.tries,
        round_tries = round_tries + o.tries, response_status = o.response_status, error = o.error,
        latency_ms = o.latency_ms, updated_at = ${tx.now}
      from unnest(${tried.map(each => each.webhook_id)}::uuid[], ${tried.map(each => each.event_id)}::bigint[],
        ${tried.map(each => each.leaseToken)}::uuid[], ${tried.map(each => each.status)}::text[],
        ${tried.map(each => each.dueAt)}::timestamptz[], ${tried.map(each => each.responseStatus)}::smallint[],
        ${tried.map(each => each.error)}::text[], ${tried.map(each => each.latencyMs)}::integer[],
        ${tried.map(each => each.tries)}::smallint[])
        as o (webhook_id, event_id, lease_token, status, due_at, response_status, error, latency_ms, tries)
      where ${isOurs}
      returning a.webhook_id, a.event_id, a.due_at
    ), due_times as (
      update webhook_due l set due_at = least(l.due_at, r.due_at)
      from (select webhook_id, min(due_at) as due_at from recorded where due_at is not null group by webhook_id) r
      where l.webhook_id = r.webhook_id
    )
    select webhook_id, event_id from recorded`)

/** Something of this webhook is due now. */
export const updateDueNow = (tx: Tx, webhookId: string): Promise<number> =>
  tx.run(prepared`update webhook_due set due_at = ${tx.now} where webhook_id = ${webhookId}`)
