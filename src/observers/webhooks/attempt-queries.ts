// The SQL over attempts as people see and handle them: lists, replay, retention.
import type { Db, Tx } from '../../platform/db/database.ts'
import { all, sql, type Sql } from '../../platform/db/sql.ts'
import type { WebhookAttempt } from './contract.ts'

interface Row extends Omit<WebhookAttempt, 'id' | 'next_attempt_at' | 'created_at' | 'updated_at'> {
  webhook_id: string
  next_attempt_at: Date | null
  created_at: Date
  updated_at: Date
}

const columns = sql`webhook_id, event_id, event_type, status, attempt, response_status, error, latency_ms,
  case when lease_token is null then due_at end as next_attempt_at, created_at, updated_at`

const toAttempt = ({ webhook_id, event_id, ...row }: Row): WebhookAttempt => ({
  id: attemptId(webhook_id, event_id),
  event_id,
  ...row,
  next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

/**
 * A webhook and an event have one attempt, so its id is made of theirs: a UUID of version 8 (RFC 9562 §5.8) with the
 * event's number in front and the random end of the webhook's id behind.
 */
const attemptId = (webhookId: string, eventId: number): string => {
  const number = eventId.toString(16).padStart(12, '0')
  return `${number.slice(0, 8)}-${number.slice(8)}-8000-${webhookId.slice(19)}`
}

interface AttemptFilter {
  status: WebhookAttempt['status'] | null
  after: number | null
  limit: number
}

/** Of a webhook that the caller was found to reach; newest event first. */
export async function listAttempts(
  db: Pick<Db, 'many'>,
  webhookId: string,
  { status, after, limit }: AttemptFilter,
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

/**
 * Queues some of what failed or died again, all tries before it; answers how many. What is being tried at this moment
 * is under way already.
 */
export const requeueAttempts = (
  tx: Tx,
  webhookId: string,
  { since, limit }: { since: Date | null; limit: number },
): Promise<number> =>
  tx.run(sql`
    with troubled as (
      select event_id from webhook_attempts
      where ${all([
        sql`webhook_id = ${webhookId} and status in ('failed', 'dead')`,
        sql`(lease_token is null or due_at <= ${tx.now})`,
        since !== null && sql`created_at >= ${since}`,
      ])}
      order by event_id limit ${limit} for update
    )
    update webhook_attempts a
    set status = 'pending', round_tries = 0, due_at = ${tx.now}, lease_token = null, updated_at = ${tx.now}
    from troubled where a.webhook_id = ${webhookId} and a.event_id = troubled.event_id`)

export const deleteDecided = (
  tx: Tx,
  { status, before, limit }: { status: 'delivered' | 'dead'; before: Date; limit: number },
): Promise<number> =>
  tx.run(sql`
    with old as (
      select webhook_id, event_id from webhook_attempts
      where status = ${status} and status in ('delivered', 'dead') and updated_at < ${before}
      order by updated_at limit ${limit} for update skip locked
    )
    delete from webhook_attempts a using old where a.webhook_id = old.webhook_id and a.event_id = old.event_id`)

export const listLeavings = (db: Db, limit: number): Promise<{ webhook_id: string }[]> =>
  db.many<{ webhook_id: string }>(sql`select webhook_id from webhook_leavings limit ${limit}`)

export const deleteAttemptsOf = (tx: Tx, webhookId: string, limit: number): Promise<number> =>
  tx.run(sql`
    delete from webhook_attempts where webhook_id = ${webhookId} and event_id in (
      select event_id from webhook_attempts where webhook_id = ${webhookId} order by event_id limit ${limit})`)

export const deleteLeaving = (tx: Tx, webhookId: string): Promise<number> =>
  tx.run(sql`delete from webhook_leavings where webhook_id = ${webhookId}`)

export const countWaitingAnywhere = (
  db: Pick<Db, 'many'>,
): Promise<{ status: 'pending' | 'failed'; count: number }[]> =>
  db.many(sql`
    select status, count(*) as count from webhook_attempts where status in ('pending', 'failed') group by status`)
