// How far the queue has followed a pause: what is still to be parked, reassigned, released or cancelled, and how much each
// pause holds. A transaction that holds or releases mail says so here.
import type { Db, Tx } from '../../platform/db/database.ts'
import { prepared, sql, type Sql } from '../../platform/db/sql.ts'
import { lockAccountsShared } from './locks.ts'
import type { ActiveSuspension } from './queries.ts'

export interface Unfinished extends ActiveSuspension {
  resume_action: 'release' | 'purge' | null
  /** The active pauses that keep what they match of it. All of them stay active while this names them. */
  kept_by: string[]
}

const columns = sql`id, account_id, tenant_id, only_tenant, scope_type, scope_value, queue_action, resume_action, kept_by`

/**
 * Active pauses that may still have mail to park: the first of each account before the second of any. Those of tags and
 * recipients come last, because there may be a thousand of them.
 */
export const listToParkAnywhere = (db: Db): Promise<Unfinished[]> =>
  db.many<Unfinished>(prepared`
    select ${columns} from (
      select ${columns}, created_at, row_number() over (
        partition by account_id order by scope_type = 'rule', created_at) as rank
      from suspensions where status = 'active' and parked_at is null
    ) waiting
    order by rank, created_at limit 10`)

/** What is claimed asks about pauses within five seconds, when it has a connection or goes back for want of one. */
const CLAIMED_MS_MAX = 6_000

/**
 * Whether mail may still be on its way to the pause: parking has not ended and something waits, or something was claimed
 * shortly before the pause and may not have asked yet.
 */
export async function isBeingParked(tx: Tx, { id, accountId }: { id: string; accountId: string }): Promise<boolean> {
  const found = await tx.alongIndexes.maybe(prepared`
    select from suspensions s where s.id = ${id} and (
      s.parked_at is null and exists (
        select from queue q where q.account_id = ${accountId} and q.status in ('queued', 'deferred', 'sending'))
      or s.created_at > ${new Date(tx.now.getTime() - CLAIMED_MS_MAX)} and exists (
        select from queue q where q.account_id = ${accountId} and q.status = 'sending'
          and (s.tenant_id is null or q.tenant_id = s.tenant_id
            or not s.only_tenant and s.scope_type in ('domain', 'sender'))))`)
  return found !== null
}

/** Answers whether the pause is still active; it stays so until the transaction ends, for a resume waits. */
export const lockWhileActive = async (tx: Tx, { id, account_id: accountId }: { id: string; account_id: string }) => {
  // Sent together: the server takes them in their order, the lock first.
  const [, row] = await Promise.all([
    lockAccountsShared(tx, [accountId]),
    tx.maybe(prepared`select from suspensions where id = ${id} and status = 'active'`),
  ])
  return row !== null
}

export const updateParked = (tx: Tx, id: string): Promise<number> =>
  tx.run(sql`update suspensions set parked_at = ${tx.now} where id = ${id}`)

/**
 * Resumed pauses that still hold something, the oldest of each account before the second of any. Several processes may work
 * on one at a time.
 */
export const listToDrainAnywhere = (db: Db): Promise<Unfinished[]> =>
  db.many<Unfinished>(prepared`
    select ${columns} from (
      select ${columns}, resumed_at, row_number() over (partition by account_id order by resumed_at) as rank
      from suspensions where status = 'resumed' and drained_at is null
    ) waiting
    order by rank, resumed_at limit 10`)

/** Answers whether its end is still the one that was listed: the resume of a pause that keeps all of it changes that. */
export const lockWhileUnchanged = async (tx: Tx, pause: Unfinished): Promise<boolean> => {
  const [, row] = await Promise.all([
    lockAccountsShared(tx, [pause.account_id]),
    tx.maybe(prepared`
      select from suspensions where id = ${pause.id} and drained_at is null
        and resume_action = ${pause.resume_action} and kept_by = ${pause.kept_by}::uuid[]`),
  ])
  return row !== null
}

/** All that other pauses keep has been moved to them. */
export const updateReassigned = (tx: Tx, id: string): Promise<number> =>
  tx.run(sql`update suspensions set kept_by = '{}' where id = ${id}`)

export const updateDrained = (tx: Tx, id: string): Promise<number> =>
  tx.run(sql`update suspensions set drained_at = ${tx.now} where id = ${id}`)

/** Active pauses that may hold something for longer than their account allows. */
export const listWithOverdueAnywhere = (db: Db, now: Date): Promise<ActiveSuspension[]> =>
  db.many<ActiveSuspension>(sql`
    select s.id, s.account_id, s.tenant_id, s.only_tenant, s.scope_type, s.scope_value, s.queue_action
    from suspensions s join accounts a on a.id = s.account_id where s.status = 'active' and ${isOverdue(now)}`)

/** What the account has held since before then is overdue. As it is set now: it may have been raised since. */
export const findHeldBefore = (tx: Tx, accountId: string): Promise<Date> =>
  tx.value<Date>(prepared`
    select ${tx.now}::timestamptz - hold_ttl_seconds * interval '1 second' from accounts where id = ${accountId}`)

const isOverdue = (now: Date): Sql => sql`s.held_since < ${now}::timestamptz - a.hold_ttl_seconds * interval '1 second'`

/** So many more, or fewer, of one pause. */
export function countHolds(tx: Tx, suspensionId: string, change: number): void {
  if (change !== 0) insertHolds(tx, new Map([[suspensionId, change]]))
}

/** Of several pauses: one entry per recipient that came to be held by it. */
export function countHeld(tx: Tx, suspensionIds: readonly string[]): void {
  if (suspensionIds.length === 0) return
  const sums = new Map<string, number>()
  for (const id of suspensionIds) sums.set(id, (sums.get(id) ?? 0) + 1)
  insertHolds(tx, sums)
}

/** A sum of changes and not a counter: no acceptance waits for another's. */
const insertHolds = (tx: Tx, changes: ReadonlyMap<string, number>): void =>
  tx.send(prepared`
    insert into suspension_holds (suspension_id, held)
    select * from unnest(${[...changes.keys()]}::uuid[], ${[...changes.values()]}::bigint[])`)

/** Adds changes up into one row, where there are many. Rows that others are adding meanwhile are left for later. */
export const compactHoldsAnywhere = (tx: Tx, rowsMin: number): Promise<number> =>
  tx.run(sql`
    with long as (
      select suspension_id from suspension_holds group by suspension_id having count(*) >= ${rowsMin} limit 100
    ), gone as (
      delete from suspension_holds h using long where h.suspension_id = long.suspension_id
      returning h.suspension_id, h.held
    )
    insert into suspension_holds (suspension_id, held)
    select suspension_id, sum(held) from gone group by suspension_id`)
