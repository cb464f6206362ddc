// The SQL of attempts: claiming, recording outcomes, giving back what is not attempted. The lease is the fence.
import type { Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import {
  inOrder,
  isOurs,
  isSameRow,
  keyColumns,
  queuedColumns,
  type DeliveryKey,
  type Key,
  type Lease,
  type QueuedRow,
} from './keys.ts'

export interface Claimed extends QueuedRow {
  attempts: number
  accepted_at: Date
  /** What the attempt before was answered. */
  smtp_code: number | null
  /** Says which transaction it is, where recipients share one. */
  envelope?: number
  /** A worker died while it had leased it. */
  is_suspect: boolean
  /** The inbox through whose provider it leaves; null for mail that is delivered to its receiver. */
  relay_inbox_id: string | null
  /** At the inbox of this installation that it is for: it need not be sent again, only recorded. */
  has_arrived: boolean
}

/** Where it is sent to, as far as one that is slow or full keeps others waiting. */
export const destinationOf = ({ relay_inbox_id, recipient_domain }: Claimed): string =>
  relay_inbox_id ?? recipient_domain

interface Claim {
  holderId: string
  leaseToken: string
  leaseUntil: Date
  limit: number
}

/** Time in which it was due and nobody tried, because no worker ran or because others came first, is not its age. */
const leased = ({ holderId, leaseToken, leaseUntil }: Claim, now: Date): Sql =>
  sql`status = 'sending', holder_id = ${holderId}, lease_token = ${leaseToken}, lease_until = ${leaseUntil},
      is_begun = false, attempts = attempts + 1, updated_at = ${now},
      accepted_at = accepted_at
        + greatest(${now}::timestamptz - greatest(due_at, accepted_at, updated_at), interval '0')`

const claimed = sql`${queuedColumns}, q.attempts, q.accepted_at, q.smtp_code,
      q.is_suspect, q.relay_inbox_id, q.has_arrived`

/**
 * What is next in rank and what is due again, alternating, leased to this worker. Skips rows that other workers are taking.
 */
export const claimDue = (tx: Tx, claim: Claim): Promise<Claimed[]> =>
  tx.alongIndexes.many<Claimed>(prepared`
    with fresh as (
      select account_id, tenant_id, message_id, n from queue where status = 'queued' and due_at is null
      order by rank limit ${claim.limit} for update skip locked
    ), again as (
      select account_id, tenant_id, message_id, n from queue
      where status in ('queued', 'deferred') and due_at <= ${tx.now}
      order by due_at limit ${claim.limit} for update skip locked
    )
    update queue q
    set ${leased(claim, tx.now)}
    from (
      select * from (
        select *, row_number() over () as ordinal from fresh union all select *, row_number() over () from again
      ) due order by ordinal limit ${claim.limit}
    ) o
    where ${isSameRow}
    returning ${claimed}`)

/**
 * The other recipients of messages that leave through a provider, as far as they are due: each transaction there makes one
 * more copy among what was sent, so all of them share one.
 */
export function claimSiblings(tx: Tx, claim: Claim, first: readonly Claimed[]): Promise<Claimed[]> {
  const messages = inOrder([...new Map(first.map(each => [each.message_id, each])).values()])
  return tx.alongIndexes.many<Claimed>(prepared`
    update queue q
    set ${leased(claim, tx.now)}
    from (
      select sibling.* from unnest(${bareArray(messages.map(each => each.relay_inbox_id!))}::uuid[],
        ${bareArray(messages.map(each => each.message_id))}::uuid[]) as w (relay_inbox_id, message_id)
      cross join lateral (
        select account_id, tenant_id, message_id, n from queue
        where relay_inbox_id = w.relay_inbox_id and message_id = w.message_id and status in ('queued', 'deferred')
          and (due_at is null or due_at <= ${tx.now})
        order by n limit ${claim.limit} for update skip locked
      ) sibling
      limit ${claim.limit}
    ) o
    where ${isSameRow}
    returning ${claimed}`)
}

export type FinalStatus = 'delivered' | 'bounced' | 'blocked' | 'expired' | 'cancelled'

/** What an attempt came to. */
export interface Verdict {
  status: FinalStatus | 'deferred'
  dueAt: Date | null
  smtpCode: number | null
  enhancedCode: string | null
  response: string | null
  mxHost: string | null
  bounceType: 'hard' | 'soft' | null
  /** What the event says beyond the above. */
  data: Record<string, unknown>
}

export interface Decided extends Key {
  lease_token: string
  envelope?: number
  verdict: Verdict
}

/** Only rows whose lease is still ours change, and only those are answered: a late worker records nothing. */
export const recordFinal = (tx: Tx, decided: readonly Decided[]): Promise<DeliveryKey[]> =>
  tx.alongIndexes.many<DeliveryKey>(prepared`
    with done as (
      delete from queue q
      using json_to_recordset(${JSON.stringify(inOrder(decided).map(flat))}::json) as o (${keyColumns}, lease_token uuid,
        status text, smtp_code smallint, enhanced_code text, response text, mx_host text, bounce_type text, envelope integer)
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

/** An attempt that came to an end killed nobody: what was suspected of it is forgotten. */
export const recordDeferred = (tx: Tx, decided: readonly Decided[]): Promise<DeliveryKey[]> =>
  tx.alongIndexes.many<DeliveryKey>(prepared`
    update queue q
    set status = 'deferred', due_at = o.due_at, lease_token = null, lease_until = null, crashes = 0, is_suspect = false,
      smtp_code = o.smtp_code, enhanced_code = o.enhanced_code, response = o.response, mx_host = o.mx_host,
      updated_at = ${tx.now}
    from json_to_recordset(${JSON.stringify(inOrder(decided).map(flat))}::json) as o (${keyColumns}, lease_token uuid,
      due_at timestamptz, smtp_code smallint, enhanced_code text, response text, mx_host text)
    where ${isOurs}
    returning q.message_id, q.n`)

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

/** Gives back what a worker has leased and will not attempt. */
export const releaseLeases = (tx: Tx, leases: readonly Lease[]): Promise<QueuedRow[]> =>
  tx.alongIndexes.many<QueuedRow>(prepared`
    update queue q set status = 'queued', lease_token = null, lease_until = null, attempts = attempts - 1
    from json_to_recordset(${JSON.stringify(inOrder(leases))}::json) as o (${keyColumns}, lease_token uuid)
    where ${isOurs}
    returning ${queuedColumns}`)

export interface Deferral extends Lease {
  due_at: Date
}

/** Gives back mail whose destination is not to be tried before the time in `due_at`. */
export const updateDeferrals = (tx: Tx, rows: readonly Deferral[]): Promise<QueuedRow[]> =>
  tx.alongIndexes.many<QueuedRow>(prepared`
    update queue q
    set status = case when attempts > 1 then 'deferred' else 'queued' end, due_at = o.due_at, lease_token = null,
      lease_until = null, attempts = attempts - 1, updated_at = ${tx.now}
    from json_to_recordset(${JSON.stringify(inOrder(rows))}::json) as o (${keyColumns}, lease_token uuid, due_at timestamptz)
    where ${isOurs}
    returning ${queuedColumns}`)

/**
 * Of mail to inboxes of this installation, in the transaction that stores it there. Answers those that had not arrived
 * before: what was not recorded in time is sent again, and is not to be stored again.
 */
export const markArrived = (tx: Tx, keys: readonly Key[]): Promise<DeliveryKey[]> =>
  tx.alongIndexes.many<DeliveryKey>(prepared`
    update queue q set has_arrived = true
    from json_to_recordset(${JSON.stringify(inOrder(keys))}::json) as o (${keyColumns})
    where ${isSameRow} and not q.has_arrived
    returning q.message_id, q.n`)
