// The SQL behind parking and draining: whose turn it is, how far it has come, and how much each pause holds.
import type { Db, Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import { lockPauseShared } from './locks.ts'
import type { ScopeType } from './contract.ts'

export interface Unfinished {
  id: string
  account_id: string
  tenant_id: string | null
  scope_type: ScopeType
  scope_value: string
  queue_action: 'hold' | 'reject'
  resume_action: 'release' | 'purge' | null
  /** Where all that it holds goes, instead of being let go. */
  moved_to: string | null
}

const columns = sql`id, account_id, tenant_id, scope_type, scope_value, queue_action, resume_action, moved_to`

/** Active pauses that may still have mail to park. */
export const listToParkAnywhere = (db: Db): Promise<Unfinished[]> =>
  db.many<Unfinished>(prepared`
    select ${columns} from suspensions where status = 'active' and parked_at is null order by created_at limit 10`)

/** Answers whether the pause is still active; it stays so until the transaction ends, for a resume waits. */
export const lockWhileActive = async (tx: Tx, id: string): Promise<boolean> => {
  // Sent together: the server takes them in their order, the lock first.
  const [, row] = await Promise.all([
    lockPauseShared(tx, id),
    tx.maybe(prepared`select from suspensions where id = ${id} and status = 'active'`),
  ])
  return row !== null
}

export const updateParked = (tx: Tx, id: string): Promise<number> =>
  tx.run(sql`update suspensions set parked_at = ${tx.now} where id = ${id}`)

/** Resumed pauses that still hold something, oldest first. Several processes may drain one at a time. */
export const listToDrainAnywhere = (db: Db): Promise<Unfinished[]> =>
  db.many<Unfinished>(prepared`
    select ${columns} from suspensions where status = 'resumed' and drained_at is null order by resumed_at limit 10`)

/** Where it goes now: a resume of that other pause may have passed it on, or have ended it. */
export const findMovedTo = async (tx: Tx, id: string): Promise<string | null> => {
  const { moved_to } = await tx.one<{ moved_to: string | null }>(
    prepared`select moved_to from suspensions where id = ${id}`,
  )
  return moved_to
}

export const updateDrained = (tx: Tx, id: string): Promise<number> =>
  tx.run(sql`update suspensions set drained_at = ${tx.now} where id = ${id}`)

export interface Expiring {
  id: string
  account_id: string
  tenant_id: string | null
  scope_type: ScopeType
  scope_value: string
  queue_action: 'hold' | 'reject'
  held_before: Date
}

/** Active pauses that may hold something for longer than their account allows. */
export const listWithOverdueAnywhere = (db: Db, now: Date): Promise<Expiring[]> =>
  db.many<Expiring>(sql`
    select s.id, s.account_id, s.tenant_id, s.scope_type, s.scope_value, s.queue_action,
      ${now}::timestamptz - a.hold_ttl_seconds * interval '1 second' as held_before
    from suspensions s join accounts a on a.id = s.account_id
    where s.status = 'active' and s.held_since < ${now}::timestamptz - a.hold_ttl_seconds * interval '1 second'`)

export const insertHolds = (tx: Tx, changes: readonly { suspensionId: string; held: number }[]): void =>
  tx.send(prepared`
    insert into suspension_holds (suspension_id, held)
    select * from unnest(${changes.map(change => change.suspensionId)}::uuid[],
      ${changes.map(change => change.held)}::bigint[])`)

/** What it holds may have been held since earlier, by another pause. */
export const updateHeldSince = (tx: Tx, id: string, earlierId: string): Promise<number> =>
  tx.run(sql`
    update suspensions s set held_since = earlier.held_since
    from suspensions earlier where s.id = ${id} and earlier.id = ${earlierId} and earlier.held_since < s.held_since`)

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
