// The SQL of delivery: claiming, keeping leases, recording outcomes. With acceptance the only writer of queue and
// deliveries.
import type { Db, Tx } from '../../platform/db/database.ts'
import { followIndexes } from '../../platform/db/planner.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import type { Verdict } from './verdict.ts'

export interface Claimed extends Key {
  recipient: string
  recipient_domain: string
  attempts: number
  accepted_at: Date
  /** Says which transaction it is, where recipients share one. */
  envelope?: number
  /** A worker died holding it. */
  is_suspect: boolean
}

/** Of a row in the queue. It begins as the queue is walked, so that one index does for both. */
export interface Key {
  account_id: string
  tenant_id: string
  message_id: string
  n: number
}

/** What a delivery is found by once it is out of the queue. */
export type DeliveryKey = Pick<Key, 'message_id' | 'n'>

/** Between the queue as `q` and others as `o`. */
export const isSameRow = sql`(q.account_id, q.tenant_id, q.message_id, q.n) = (o.account_id, o.tenant_id, o.message_id, o.n)`

/**
 * As above, and under our lease: what is not being sent has none. That it is being sent is not asked, or the planner would
 * read all that is under way instead of the rows that are named.
 */
export const isOurs = sql`${isSameRow} and q.lease_token = o.lease_token`

export const keyColumns = sql`account_id uuid, tenant_id uuid, message_id uuid, n integer`

export interface Claim {
  holderId: string
  leaseToken: string
  leaseUntil: Date
  limit: number
}

/**
 * What is next in rank and what is due again, in turns, leased to this worker. Skips rows that other workers are taking.
 */
export const claimDue = (tx: Tx, { holderId, leaseToken, leaseUntil, limit }: Claim): Promise<Claimed[]> =>
  tx.many<Claimed>(prepared`
    with fresh as (
      select account_id, tenant_id, message_id, n from queue where status = 'queued' and due_at is null
      order by rank limit ${limit} for update skip locked
    ), again as (
      select account_id, tenant_id, message_id, n from queue
      where status in ('queued', 'deferred') and due_at <= ${tx.now}
      order by due_at limit ${limit} for update skip locked
    )
    update queue q
    set status = 'sending', holder_id = ${holderId}, lease_token = ${leaseToken}, lease_until = ${leaseUntil},
      is_begun = false, attempts = attempts + 1, updated_at = ${tx.now}
    from (
      select * from (
        select *, row_number() over () as turn from fresh union all select *, row_number() over () from again
      ) due order by turn limit ${limit}
    ) o
    where ${isSameRow}
    returning q.message_id, q.n, q.account_id, q.tenant_id, q.recipient, q.recipient_domain, q.attempts, q.accepted_at,
      q.is_suspect`)

export interface MessageToSend {
  id: string
  account_id: string
  tenant_id: string
  api_key_id: string | null
  credential_id: string | null
  domain_id: string | null
  sender: string
  sender_domain: string
  tags: string[]
  size: number
  is_sandbox: boolean
  needs_smtputf8: boolean
  has_unsubscribe: boolean
  require_tls: boolean
  /** Null when it is large: fetched when its turn comes. */
  source: Buffer | null
}

/** The messages of a claim, with the bodies that are small enough to hold many of. */
export const listMessagesToSend = (db: Db, ids: readonly string[], bodyBytesMax: number): Promise<MessageToSend[]> =>
  db.many<MessageToSend>(prepared`
    select m.id, m.account_id, m.tenant_id, m.api_key_id, m.credential_id, m.domain_id, m.sender, m.sender_domain, m.tags,
      m.size, m.is_sandbox, m.needs_smtputf8, m.has_unsubscribe, a.require_outbound_tls as require_tls,
      case when m.size <= ${bodyBytesMax} and not m.is_sandbox then b.source end as source
    from messages m join accounts a on a.id = m.account_id left join message_bodies b on b.message_id = m.id
    where m.id = any(${ids}::uuid[])`)

/** A part of a source: as text on its way here it is twice as long, and reading all of 36 MB would hold the thread. */
export const findBodyPart = (
  db: Db,
  messageId: string,
  { start, bytes }: { start: number; bytes: number },
): Promise<{ part: Buffer } | null> =>
  db.maybe<{ part: Buffer }>(prepared`
    select substring(source from ${start + 1}::integer for ${bytes}::integer) as part
    from message_bodies where message_id = ${messageId}`)

export interface Decided extends Key {
  lease_token: string
  envelope?: number
  verdict: Verdict
}

/** Only rows whose lease is still ours change, and only those are answered: a late worker records nothing. */
export const recordFinal = (tx: Tx, decided: readonly Decided[]): Promise<DeliveryKey[]> => {
  followIndexes(tx)
  return tx.many<DeliveryKey>(prepared`
    with done as (
      delete from queue q
      using json_to_recordset(${JSON.stringify(decided.map(flat))}::json) as o (${keyColumns}, lease_token uuid, status text,
        smtp_code smallint, enhanced_code text, response text, mx_host text, bounce_type text, envelope integer)
      where ${isOurs}
      returning q.attempts, o.*
    )
    update deliveries d
    set status = o.status, attempts = o.attempts, smtp_code = o.smtp_code, enhanced_code = o.enhanced_code,
      response = o.response, mx_host = o.mx_host, bounce_type = o.bounce_type, envelope = o.envelope,
      updated_at = ${tx.now}
    from done o
    where d.message_id = o.message_id and d.n = o.n
    returning d.message_id, d.n`)
}

/** An attempt that came to an end killed nobody: what was suspected of it is forgotten. */
export const recordDeferred = (tx: Tx, decided: readonly Decided[]): Promise<DeliveryKey[]> => {
  followIndexes(tx)
  return tx.many<DeliveryKey>(prepared`
    update queue q
    set status = 'deferred', due_at = o.due_at, lease_token = null, lease_until = null, crashes = 0, is_suspect = false,
      smtp_code = o.smtp_code, enhanced_code = o.enhanced_code, response = o.response, mx_host = o.mx_host,
      updated_at = ${tx.now}
    from json_to_recordset(${JSON.stringify(decided.map(flat))}::json) as o (${keyColumns}, lease_token uuid,
      due_at timestamptz, smtp_code smallint, enhanced_code text, response text, mx_host text)
    where ${isOurs}
    returning q.message_id, q.n`)
}

const flat = ({ account_id, tenant_id, message_id, n, lease_token, envelope, verdict }: Decided) => ({
  account_id,
  tenant_id,
  message_id,
  n,
  lease_token,
  status: verdict.status,
  due_at: verdict.dueAt,
  smtp_code: verdict.smtpCode,
  enhanced_code: verdict.enhancedCode,
  response: verdict.response,
  mx_host: verdict.mxHost,
  bounce_type: verdict.bounceType,
  envelope: envelope ?? null,
})

export interface Parked extends Key {
  lease_token: string
  suspension_id: string
}

/** Found paused just before its attempt: held if it still is, and the attempt that did not happen is not counted. */
export const recordHeld = (tx: Tx, parked: readonly Parked[]): Promise<(DeliveryKey & { suspension_id: string })[]> =>
  tx.many<DeliveryKey & { suspension_id: string }>(prepared`
    update queue q
    set status = 'held', suspension_id = o.suspension_id, held_at = ${tx.now}, lease_token = null, lease_until = null,
      attempts = attempts - 1, updated_at = ${tx.now}
    from json_to_recordset(${JSON.stringify(parked)}::json) as o (${keyColumns}, lease_token uuid,
      suspension_id uuid) join suspensions s on s.id = o.suspension_id and s.status = 'active'
    where ${isOurs}
    returning q.message_id, q.n, q.suspension_id`)

export interface Lease extends Key {
  lease_token: string
}

export const extendLeases = (tx: Tx, leases: readonly Lease[], leaseUntil: Date): Promise<number> =>
  tx.run(prepared`
    update queue q set lease_until = ${leaseUntil}
    from json_to_recordset(${JSON.stringify(leases)}::json) as o (${keyColumns}, lease_token uuid)
    where ${isOurs}`)

/** Gives back what a worker holds and will not attempt. */
export const releaseLeases = (tx: Tx, leases: readonly Lease[]): Promise<number> =>
  tx.run(prepared`
    update queue q set status = 'queued', lease_token = null, lease_until = null, attempts = attempts - 1
    from json_to_recordset(${JSON.stringify(leases)}::json) as o (${keyColumns}, lease_token uuid)
    where ${isOurs}`)

export interface Deferral extends Lease {
  due_at: Date
}

/** As above for mail whose destination is not to be tried before its turn comes. */
export const updateDeferrals = (tx: Tx, rows: readonly Deferral[]): void =>
  tx.send(prepared`
    update queue q
    set status = case when attempts > 1 then 'deferred' else 'queued' end, due_at = o.due_at, lease_token = null,
      lease_until = null, attempts = attempts - 1, updated_at = ${tx.now}
    from json_to_recordset(${JSON.stringify(rows)}::json) as o (${keyColumns}, lease_token uuid, due_at timestamptz)
    where ${isOurs}`)

export const deleteDeliveries = (tx: Tx, messageIds: readonly string[]): Promise<number> =>
  tx.run(sql`delete from deliveries where message_id = any(${messageIds}::uuid[])`)
