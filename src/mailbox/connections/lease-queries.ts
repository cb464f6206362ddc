// The SQL of the lease on a connection: the worker that has it has the one IMAP session of that inbox. An inbox that is
// paused or deleted is given to nobody, and taken from the worker that has it.
import type { Db, Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import { isAsked, type Claim, type Leased } from '../../platform/work/leased-work.ts'
import { LeasedTable, leasing } from '../../platform/work/leased-table.ts'
import type { ConnectionOwner } from './queries.ts'

export interface DueConnection extends ConnectionOwner {
  generation: number
  connected_at: Date
  attempts: number
  /** Sign-ins that the provider refused since the last one that it did not. */
  refusals: number
  /** When it was due before it was leased. */
  was_due_at: Date
}

const isOpen = sql`exists (
  select from inboxes i where i.id = t.inbox_id and i.deleted_at is null and i.status = 'active')`

/** The longest due first. Those of a worker that died are due when its lease has lapsed. */
export const claimDueConnections = (tx: Tx, { limit, asked, ...lease }: Claim<DueConnection>) =>
  tx.many<DueConnection>(prepared`
    with due as (
      select t.inbox_id, t.due_at from connections t
      where t.due_at <= ${tx.now} and ${isAsked(asked, { key: sql`t.inbox_id`, account: sql`t.account_id` })} and ${isOpen}
      order by t.due_at limit ${limit} for update skip locked
    )
    update connections t set ${leasing(lease)} from due where t.inbox_id = due.inbox_id
    returning t.inbox_id, t.account_id, t.tenant_id, t.provider, t.address, t.generation, t.connected_at, t.attempts,
      t.refusals, due.due_at as was_due_at`)

const table = new LeasedTable(sql`connections`, 'inbox_id')

type Leases = readonly Leased<Pick<DueConnection, 'inbox_id'>>[]

/** Answers those that are still ours. */
export const extendConnectionLeases = (tx: Tx, leases: Leases, leaseUntil: Date): Promise<{ inbox_id: string }[]> =>
  tx.many(prepared`
    update connections t set due_at = ${leaseUntil} from ${table.ours(leases)} and ${isOpen} returning t.inbox_id`)

/** Which of these are still ours. */
export const listLeasedConnections = (db: Db, leases: Leases): Promise<{ inbox_id: string }[]> =>
  db.many(prepared`select t.inbox_id from connections t, ${table.ours(leases)} and ${isOpen}`)

export const releaseConnectionLeases: typeof table.release = (tx, leases) => table.release(tx, leases)
