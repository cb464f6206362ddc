// The SQL by which a mirror says how it stands, and of its lease: the worker that has it has the one IMAP session of that
// inbox. An inbox that is paused or deleted is given to nobody, and taken from the worker that has it. Every write repeats the
// lease, or the generation of the grant where there may be no lease: work that began under an older grant records nothing.
import type { Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import { isAsked, type Claim, type Leased } from '../../platform/work/leased-work.ts'
import { LeasedTable, leasing } from '../../platform/work/leased-table.ts'
import type { ConnectionOwner } from './queries.ts'

export interface Lease {
  inboxId: string
  generation: number
  leaseToken: string
}

type State = 'syncing' | 'live' | 'failing' | 'reconnect_required'

export interface ReportedConnection extends ConnectionOwner {
  state: State
  error: string | null
  last_sync_at: Date | null
  messages_synced: number
  messages_total: number | null
}

const columns = sql`c.inbox_id, c.account_id, c.tenant_id, c.provider, c.address, c.state, c.error, c.last_sync_at,
  c.messages_synced, c.messages_total`

const isOurs = ({ inboxId, generation, leaseToken }: Lease) =>
  sql`c.inbox_id = ${inboxId} and c.generation = ${generation} and c.lease_token = ${leaseToken}`

/** The fence of every transaction of a mirror: false when the lease is somebody else's. Locks the row until the end. */
export const updateSynced = async (tx: Tx, lease: Lease, messages: number): Promise<boolean> =>
  (await tx.run(prepared`
    update connections c set messages_synced = greatest(c.messages_synced + ${messages}, 0), last_sync_at = ${tx.now},
      messages_total = greatest(c.messages_total + least(${messages}::bigint, 0), c.messages_synced + ${messages}, 0)
    where ${isOurs(lease)}`)) > 0

export const updateProgress = (tx: Tx, lease: Lease, { state, total }: { state: 'syncing' | 'live'; total: number }) =>
  tx.maybe<ReportedConnection>(prepared`
    update connections c set state = ${state}, error = null, attempts = 0, refusals = 0, last_sync_at = ${tx.now},
      messages_synced = s.synced, messages_total = greatest(${total}::bigint, s.synced)
    from (select count(*) as synced from remote_messages where inbox_id = ${lease.inboxId} and uid > 0) s
    where ${isOurs(lease)} returning ${columns}`)

export const updateEnded = (
  tx: Tx,
  lease: Lease,
  { error, dueAt, isRefused = false }: { error: string | null; dueAt: Date; isRefused?: boolean },
): Promise<(ReportedConnection & { was: State }) | null> =>
  tx.maybe<ReportedConnection & { was: State }>(prepared`
    update connections c set lease_token = null, due_at = ${dueAt}, error = coalesce(${error}, c.error),
      state = case when ${error}::text is null then c.state else 'failing' end,
      refusals = c.refusals + ${isRefused ? 1 : 0}
    from (select inbox_id, state from connections c where ${isOurs(lease)} for update) before
    where c.inbox_id = before.inbox_id returning ${columns}, before.state as was`)

export interface GoneGrant {
  inboxId: string
  generation: number
  /** Where the provider said so when a token was to be refreshed. */
  refreshLease?: string | null
  error: string
}

/** Null where it was known already, or there is a newer grant or refresh token. */
export const updateGrantGone = (tx: Tx, { inboxId, generation, refreshLease = null, error }: GoneGrant) =>
  tx.maybe<ReportedConnection>(prepared`
    update connections c set state = 'reconnect_required', error = ${error}, due_at = null, lease_token = null,
      refresh_token = null, access_token = null, access_expires_at = null, refresh_lease = null, refresh_until = null
    where c.inbox_id = ${inboxId} and c.generation = ${generation} and c.state <> 'reconnect_required'
      and (${refreshLease}::uuid is null or c.refresh_lease = ${refreshLease})
    returning ${columns}`)

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
  tx.alongIndexes.many(prepared`
    update connections t set due_at = ${leaseUntil} from ${table.ours(leases)} and ${isOpen} returning t.inbox_id`)

/** Which of these are still ours. */
export const listLeasedConnections = (tx: Tx, leases: Leases): Promise<{ inbox_id: string }[]> =>
  tx.alongIndexes.many(prepared`select t.inbox_id from connections t, ${table.ours(leases)} and ${isOpen}`)

export const releaseConnectionLeases: typeof table.release = (tx, leases) => table.release(tx, leases)
