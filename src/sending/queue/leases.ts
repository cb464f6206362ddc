// The SQL of leases: extending them, taking back what an outage undid, reclaiming what lapsed.
import type { Tx } from '../../platform/db/database.ts'
import { prepared } from '../../platform/db/sql.ts'
import { inOrder, isOurs, isSameRow, keyColumns, queuedColumns, type Lease, type QueuedRow } from './keys.ts'

export const extendLeases = (tx: Tx, leases: readonly Lease[], leaseUntil: Date): Promise<number> =>
  tx.alongIndexes.run(prepared`
    update queue q set lease_until = ${leaseUntil}
    from json_to_recordset(${JSON.stringify(inOrder(leases))}::json) as o (${keyColumns}, lease_token uuid)
    where ${isOurs}`)

/** A lease, and which attempt it is for. */
export interface AttemptLease extends Lease {
  attempts: number
}

/**
 * Takes back what is ours and carries no lease any more: a crash of the database undid the claim, or another process gave
 * the mail back. Only where nobody has claimed it since, as the number of attempts says, and not where the result of this
 * very attempt stands already.
 */
export function retakeLeases(
  tx: Tx,
  leases: readonly AttemptLease[],
  { holderId, leaseUntil }: { holderId: string; leaseUntil: Date },
): Promise<number> {
  return tx.alongIndexes.run(prepared`
    update queue q
    set status = 'sending', lease_token = o.lease_token, lease_until = ${leaseUntil}, holder_id = ${holderId},
      attempts = o.attempts
    from json_to_recordset(${JSON.stringify(inOrder(leases))}::json) as o (${keyColumns}, lease_token uuid, attempts smallint)
    where ${isSameRow} and q.lease_token is null
      and (q.status = 'queued' and q.attempts <= o.attempts or q.status = 'deferred' and q.attempts < o.attempts)`)
}

/** Says of suspects whether they are being worked on, so that the next crash can be told to be theirs or not. */
export const updateBegun = (tx: Tx, leases: readonly Lease[], isBegun: boolean): Promise<number> =>
  tx.alongIndexes.run(prepared`
    update queue q set is_begun = ${isBegun}
    from json_to_recordset(${JSON.stringify(inOrder(leases))}::json) as o (${keyColumns}, lease_token uuid)
    where ${isOurs}`)

export interface Lapsed extends QueuedRow {
  crashes: number
  status: 'queued' | 'held'
}

interface Reclaim {
  crashesMax: number
  /** A holder without a heartbeat since then is gone. */
  goneBefore: Date
  /** Without it, only what a living holder has given up is reclaimed. */
  mayJudge: boolean
  limit: number
}

/**
 * A lease that lapsed gives the work back. Where its holder is gone it may have been the mail's fault: at first it becomes a
 * suspect, and from then on a crash counts where it had begun; the first one then counts in hindsight. What took three
 * workers with it is set aside, so that the queue behind it moves.
 */
export const reclaimLapsed = (tx: Tx, { crashesMax, goneBefore, mayJudge, limit }: Reclaim): Promise<Lapsed[]> =>
  tx.alongIndexes.many<Lapsed>(prepared`
    with lapsed as (
      select q.account_id, q.tenant_id, q.message_id, q.n, not holder.is_accounted_for as is_suspect,
        case when holder.is_accounted_for or not q.is_begun then q.crashes
          else greatest(q.crashes + 1, 2) end as crashes
      from queue q left join holders h on h.id = q.holder_id
        cross join lateral (
          select coalesce(h.left_at is not null or h.beat_at >= ${goneBefore}, false) as is_accounted_for) holder
      where q.status = 'sending' and q.lease_until < ${tx.now} and (holder.is_accounted_for or ${mayJudge})
      order by q.lease_until limit ${limit} for update of q skip locked
    )
    update queue q
    set status = case when o.crashes >= ${crashesMax} then 'held' else 'queued' end, crashes = o.crashes,
      is_suspect = q.is_suspect or o.is_suspect,
      held_at = case when o.crashes >= ${crashesMax} then ${tx.now}::timestamptz end, lease_token = null,
      lease_until = null, updated_at = ${tx.now}
    from lapsed o where ${isSameRow}
    returning ${queuedColumns}, q.crashes, q.status`)
