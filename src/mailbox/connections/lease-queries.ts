// The SQL of the lease on a connection: the worker that has it has the one IMAP session of that inbox. An inbox that is
// paused or deleted is given to nobody, and taken from the worker that has it.
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'
import type { KeysAsked } from '../../platform/work/leased-work.ts'

export interface DueConnection {
  inbox_id: string
  account_id: string
  tenant_id: string
  provider: 'google' | 'microsoft'
  address: string
  generation: number
  connected_at: Date
  attempts: number
  /** Sign-ins that the provider refused since the last one that it did not. */
  refusals: number
  /** When it was due before it was leased. */
  was_due_at: Date
}

interface Claim {
  leaseToken: string
  leaseUntil: Date
  limit: number
  asked: KeysAsked
}

const ATTEMPTS_COUNTED_MAX = 1_000

const isOpen = sql`exists (
  select from inboxes i where i.id = c.inbox_id and i.deleted_at is null and i.status = 'active')`

/** The longest due first. Those of a worker that died are due when its lease has lapsed. */
export const claimDueConnections = (
  tx: Tx,
  { leaseToken, leaseUntil, limit, asked }: Claim,
): Promise<DueConnection[]> =>
  tx.many<DueConnection>(prepared`
    with due as (
      select c.inbox_id, c.due_at from connections c
      where c.due_at <= ${tx.now} and not (c.inbox_id = any(${asked.except}::uuid[]))
        and (${asked.only}::uuid[] is null or c.inbox_id = any(${asked.only}::uuid[]))
        and (not (c.account_id = any(${asked.exceptAccounts}::uuid[])) or c.inbox_id = any(${asked.known}::uuid[]))
        and ${isOpen}
      order by c.due_at limit ${limit} for update skip locked
    )
    update connections c set lease_token = ${leaseToken}, due_at = ${leaseUntil},
      attempts = least(c.attempts + 1, ${ATTEMPTS_COUNTED_MAX})
    from due where c.inbox_id = due.inbox_id
    returning c.inbox_id, c.account_id, c.tenant_id, c.provider, c.address, c.generation, c.connected_at, c.attempts,
      c.refusals, due.due_at as was_due_at`)

type Lease = Pick<DueConnection, 'inbox_id'> & { leaseToken: string }

const ours = (leases: readonly Lease[]) => sql`
  unnest(${bareArray(leases.map(each => each.inbox_id))}::uuid[], ${bareArray(leases.map(each => each.leaseToken))}::uuid[])
    as o (inbox_id, lease_token)`

const isOurs = sql`c.inbox_id = o.inbox_id and c.lease_token = o.lease_token`

/** Answers those that are still ours. */
export const extendConnectionLeases = (
  tx: Tx,
  leases: readonly Lease[],
  leaseUntil: Date,
): Promise<{ inbox_id: string }[]> =>
  tx.many(prepared`
    update connections c set due_at = ${leaseUntil} from ${ours(leases)} where ${isOurs} and ${isOpen}
    returning c.inbox_id`)

/** Which of these are still ours. */
export const listLeasedConnections = (db: Db, leases: readonly Lease[]): Promise<{ inbox_id: string }[]> =>
  db.many(prepared`select c.inbox_id from connections c, ${ours(leases)} where ${isOurs} and ${isOpen}`)

/** Gives back what was claimed and not tried. */
export const releaseConnectionLeases = (
  tx: Tx,
  leases: readonly (Lease & Pick<DueConnection, 'was_due_at'>)[],
): Promise<number> =>
  tx.run(prepared`
    update connections c set due_at = o.due_at, lease_token = null, attempts = greatest(c.attempts - 1, 0)
    from unnest(${bareArray(leases.map(each => each.inbox_id))}::uuid[],
      ${bareArray(leases.map(each => each.leaseToken))}::uuid[],
      ${leases.map(each => each.was_due_at)}::timestamptz[]) as o (inbox_id, lease_token, due_at)
    where ${isOurs}`)
