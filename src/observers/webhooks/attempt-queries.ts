// The SQL over attempts as people see and handle them: lists, replay, retention.
import { lockedUnlessOnHold } from '../../identity/accounts/legal-hold.ts'
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { all, sql, type Sql } from '../../platform/db/sql.ts'
import { withTimesAsText, type RowOf } from '../../platform/db/times.ts'
import type { Scanned } from '../../platform/work/retention-scan.ts'
import type { WebhookAttempt } from './contract.ts'

interface Row extends RowOf<Omit<WebhookAttempt, 'id'>, 'next_attempt_at' | 'created_at' | 'updated_at'> {
  webhook_id: string
}

const columns = sql`webhook_id, event_id, event_type, status, attempt, response_status, error, latency_ms,
  case when lease_token is null then due_at end as next_attempt_at, created_at, updated_at`

const toAttempt = ({ webhook_id, event_id, ...row }: Row): WebhookAttempt => ({
  id: attemptId(webhook_id, event_id),
  event_id,
  ...withTimesAsText(row),
})

/**
 * A webhook and an event have one attempt, so its id is made of theirs: a UUID of version 8 (RFC 9562 §5.8) with the
 * event's number in front and the random end of the webhook's id behind.
 */
const attemptId = (webhookId: string, eventId: number): string => {
  const number = eventId.toString(16).padStart(12, '0')
  return `${number.slice(0, 8)}-${number.slice(8)}-8000-${webhookId.slice(19)}`
}

/** Of a webhook that the caller was found to reach; newest event first. */
export async function listAttempts(
  db: Reads,
  webhookId: string,
  { status, after, limit }: { status: WebhookAttempt['status'] | null; after: number | null; limit: number },
): Promise<WebhookAttempt[]> {
  const condition = all([
    sql`webhook_id = ${webhookId}`,
    status !== null && statusIs(status),
    after !== null && sql`event_id < ${after}`,
  ])
  const rows = await db.many<Row>(sql`
    select ${columns} from webhook_attempts where ${condition} order by event_id desc limit ${limit}`)
  return rows.map(toAttempt)
}

/** Says again what the partial index says, so that the planner can use it with a bound value. */
const statusIs = (status: WebhookAttempt['status']): Sql =>
  status === 'delivered'
    ? sql`status = 'delivered'`
    : sql`status = ${status} and status in ('pending', 'failed', 'dead')`

/** The newest event that the webhook has an attempt for, 0 where it has none. */
export const findNewestAttempt = (db: Db, webhookId: string): Promise<number> =>
  db.value<number>(sql`
    select coalesce(max(event_id), 0) as event_id from webhook_attempts where webhook_id = ${webhookId}`)

/**
 * The oldest event that an active webhook of the account is still to be pushed. One that is disabled may stay so for ever;
 * what is gone when it is enabled again is listed as dead then.
 */
export const findFirstUndecided = (db: Db, accountId: string): Promise<number | null> => {
  const first = (status: Sql): Sql => sql`(select event_id from webhook_attempts a
    where a.webhook_id = w.id and a.status = ${status} order by event_id limit 1)`
  return db.value<number | null>(sql`
    select min(least(${first(sql`'pending'`)}, ${first(sql`'failed'`)})) from webhooks w
    where w.account_id = ${accountId} and w.status = 'active'`)
}

interface Requeued {
  /** The last event that was looked at; null where nothing is left. */
  last: number | null
  requeued: number
}

/**
 * Queues the next of what failed or died again, all tries before it. What is being tried at this moment is under way
 * already. A bounded number is looked at, not a bounded number queued: a million may be older than the time given. The two
 * statuses are read apart, because the index has each in the order of its events.
 */
export const requeueAttempts = (
  tx: Tx,
  webhookId: string,
  { since, after, upTo, limit }: { since: Date | null; after: number; upTo: number; limit: number },
): Promise<Requeued> => {
  const troubled = (status: Sql): Sql => sql`
    select event_id from webhook_attempts
    where webhook_id = ${webhookId} and status = ${status} and event_id > ${after} and event_id <= ${upTo}
    order by event_id limit ${limit}`
  const isWanted = all([
    sql`a.status in ('failed', 'dead') and (a.lease_token is null or a.due_at <= ${tx.now})`,
    since !== null && sql`a.created_at >= ${since}`,
  ])
  return tx.one<Requeued>(sql`
    with next as materialized (
      select event_id from ((${troubled(sql`'failed'`)}) union all (${troubled(sql`'dead'`)})) troubled
      order by event_id limit ${limit}
    ), wanted as materialized (
      -- By its id alone: statistics of another time would look each up among all that failed.
      select a.event_id from next cross join lateral (
        select event_id, status, lease_token, due_at, created_at from webhook_attempts
        where webhook_id = ${webhookId} and event_id = next.event_id for update
      ) a where ${isWanted}
    ), requeued as (
      update webhook_attempts a
      set status = 'pending', round_tries = 0, due_at = ${tx.now}, lease_token = null, updated_at = ${tx.now}
      where a.webhook_id = ${webhookId} and a.event_id = any(array(select event_id from wanted)) returning 1
    )
    select case when (select count(*) from next) = ${limit} then (select max(event_id) from next) end as last,
      (select count(*) from requeued) as requeued`)
}

export interface DecidedKey {
  /** As PostgreSQL writes it: a `Date` has no microseconds. */
  updated_at: string
  webhook_id: string
  event_id: number
}

interface DecidedBatch {
  status: 'delivered' | 'dead'
  before: Date
  after: DecidedKey | null
  limit: number
}

/**
 * Looks at the next old ones, and deletes those of accounts that are not under legal hold. What others have locked stays.
 * A bounded number is looked at, not a bounded number deleted: a hold may keep millions that come first.
 */
export const deleteDecided = (tx: Tx, { status, before, after, limit }: DecidedBatch): Promise<Scanned<DecidedKey>> => {
  const isOld = sql`status = ${status} and status in ('delivered', 'dead') and updated_at < ${before}`
  const isNext =
    after &&
    sql`updated_at >= ${after.updated_at} and (updated_at, webhook_id, event_id)
      > (${after.updated_at}::timestamptz, ${after.webhook_id}::uuid, ${after.event_id}::bigint)`
  return tx.one<Scanned<DecidedKey>>(sql`
    with scanned as materialized (
      select updated_at, webhook_id, event_id from webhook_attempts where ${all([isOld, isNext])}
      order by updated_at, webhook_id, event_id limit ${limit}
    ), free as materialized (${lockedUnlessOnHold(sql`
      select account_id from webhooks where id in (select webhook_id from scanned)`)}
    ), old as materialized (
      select a.webhook_id, a.event_id from scanned join webhook_attempts a using (webhook_id, event_id)
      where a.status = ${status} and a.updated_at < ${before}
        and not exists (select from webhooks w where w.id = a.webhook_id and w.account_id not in (select id from free))
      for update of a skip locked
    ), deleted as (
      delete from webhook_attempts a using old where a.webhook_id = old.webhook_id and a.event_id = old.event_id returning 1
    )
    select (select count(*) from scanned) as scanned, (select count(*) from deleted) as deleted,
      (select json_build_object('updated_at', updated_at, 'webhook_id', webhook_id, 'event_id', event_id) from scanned
        order by updated_at desc, webhook_id desc, event_id desc limit 1) as last`)
}

export const listLeavings = (db: Db, limit: number): Promise<{ webhook_id: string }[]> =>
  db.many<{ webhook_id: string }>(sql`select webhook_id from webhook_removals limit ${limit}`)

export const deleteAttemptsOf = (tx: Tx, webhookId: string, limit: number): Promise<number> =>
  tx.run(sql`
    delete from webhook_attempts where webhook_id = ${webhookId} and event_id in (
      select event_id from webhook_attempts where webhook_id = ${webhookId} order by event_id limit ${limit})`)

export const deleteLeaving = (tx: Tx, webhookId: string): Promise<number> =>
  tx.run(sql`delete from webhook_removals where webhook_id = ${webhookId}`)

export const countWaitingAnywhere = (db: Reads): Promise<{ status: 'pending' | 'failed'; count: number }[]> =>
  db.many(sql`
    select status, count(*) as count from webhook_attempts where status in ('pending', 'failed') group by status`)
