// The SQL of held mail: parking what waits, releasing, cancelling, expiring, moving from one pause to another.
import { matchesAny, type PauseFacts, type PauseScope } from '../../control/suspensions/scopes.ts'
import type { Tx } from '../../platform/db/database.ts'
import { followIndexes } from '../../platform/db/planner.ts'
import { all, bareArray, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import { isSameRow, type Key } from './keys.ts'

/** What an event says of it: a million rows are told, so no more is read. */
export interface HeldRow {
  message_id: string
  tenant_id: string
  recipient: string
}

/** Enough, with its message, to ask whether a pause matches it. */
export interface WalkedRow extends HeldRow {
  account_id: string
  n: number
  recipient_domain: string
}

/** Where in the walk over an account's queue. */
export interface QueuePosition {
  tenant_id: string
  message_id: string
  n: number
}

export interface Walk {
  accountId: string
  /** Null: the whole account. */
  tenantId: string | null
  after: QueuePosition | null
  limit: number
}

export interface Stretch {
  walk: Omit<Walk, 'limit'>
  end: QueuePosition
}

/** The next stretch of an account's queue, by tenant and message, whatever the status. Its end bounds one batch. */
export const findStretchEnd = (
  tx: Tx,
  walk: Walk,
): Promise<(QueuePosition & { count: number; is_last: boolean }) | null> =>
  tx.maybe(sql`
    select tenant_id, message_id, n, count, count < ${walk.limit} as is_last
    from (
      select tenant_id, message_id, n, count(*) over () as count, row_number() over () as position
      from (select tenant_id, message_id, n from queue where ${stretchAfter(walk)}
        order by account_id, tenant_id, message_id, n limit ${walk.limit}) rows
    ) counted
    where position = count`)

/**
 * A tenant is compared as equal and the rest of the key as a row: with all three in the row beside the equal tenant, the
 * scan would begin at the tenant's first entry each time.
 */
const stretchAfter = ({ accountId, tenantId, after }: Omit<Walk, 'limit'>): Sql =>
  all([
    sql`account_id = ${accountId}`,
    tenantId !== null && sql`tenant_id = ${tenantId}`,
    after && sql`${keyOf(tenantId)} > ${valueOf(tenantId, after)}`,
  ])

const keyOf = (tenantId: string | null): Sql =>
  tenantId === null ? sql`(tenant_id, message_id, n)` : sql`(message_id, n)`

const valueOf = (tenantId: string | null, { tenant_id, message_id, n }: QueuePosition): Sql =>
  tenantId === null
    ? sql`(${tenant_id}::uuid, ${message_id}::uuid, ${n}::integer)`
    : sql`(${message_id}::uuid, ${n}::integer)`

/**
 * Holds what waits in the stretch and the pause matches. Rows that a worker is taking are left to the gate. By the place of
 * the rows: joined by their keys, the planner takes a stretch of a fast-growing table for a large part of it, and reads it
 * all.
 */
export const parkStretch = (tx: Tx, pause: PauseScope, stretch: Stretch): Promise<HeldRow[]> =>
  tx.many<HeldRow>(sql`
    update queue q
    set status = 'held', suspension_id = ${pause.id}, held_at = ${tx.now}, due_at = null, updated_at = ${tx.now}
    where ctid = any(array(
      select q.ctid from queue q
      where ${inStretch(stretch)} and q.status in ('queued', 'deferred') and ${matchesAny([pause])}
      for update of q skip locked))
    returning q.message_id, q.tenant_id, q.recipient`)

/** What the pause matches in the stretch and did not get, because it is being sent or taken. */
export const insertStragglers = (tx: Tx, pause: PauseScope, stretch: Stretch): void =>
  tx.send(sql`
    insert into suspension_stragglers (suspension_id, account_id, tenant_id, message_id, n)
    select ${pause.id}, account_id, tenant_id, message_id, n from queue q
    where ${inStretch(stretch)} and q.status in ('queued', 'deferred', 'sending') and ${matchesAny([pause])}
    on conflict do nothing`)

const inStretch = ({ walk, end }: Stretch): Sql =>
  sql`${stretchAfter(walk)} and ${keyOf(walk.tenantId)} <= ${valueOf(walk.tenantId, end)}`

export interface HeldPage {
  suspensionId: string
  after: { message_id: string; n: number } | null
  limit: number
}

const heldAfter = ({ suspensionId, after }: Omit<HeldPage, 'limit'>): Sql =>
  all([
    sql`suspension_id = ${suspensionId} and status = 'held'`,
    after && sql`(message_id, n) > (${after.message_id}::uuid, ${after.n}::integer)`,
  ])

/** A row that is locked, and where it lies. */
export interface LockedRow extends HeldRow {
  n: number
  place: string
}

const lockedHeld = (columns: Sql, page: HeldPage): Sql => sql`
  select ${columns} from queue where ${heldAfter(page)}
  order by message_id, n limit ${page.limit} for update skip locked`

/** The next rows that a pause holds, locked; what another process is letting go is skipped. */
export const lockHeld = (tx: Tx, page: HeldPage): Promise<LockedRow[]> =>
  tx.many<LockedRow>(lockedHeld(sql`tenant_id, message_id, n, recipient, ctid::text as place`, page))

/** As above, with all that can be asked about them: it costs a tenth of letting them go. */
export const lockHeldWhole = (tx: Tx, page: HeldPage): Promise<(LockedRow & WalkedRow)[]> =>
  tx.many<LockedRow & WalkedRow>(
    lockedHeld(sql`account_id, tenant_id, message_id, n, recipient, recipient_domain, ctid::text as place`, page),
  )

/**
 * The next rows that a pause holds, without a lock: those that one of the others matches, and where the page ends, null after
 * the last one. The page bounds what is read and not what is found, so that a statement stays short where nothing is found.
 * `since` leaves out what was held before. The caller holds the pause's own lock.
 */
export async function listHeldMatching(
  tx: Tx,
  page: HeldPage,
  { others, since }: { others: readonly PauseScope[]; since: Date | null },
): Promise<{ rows: WalkedRow[]; end: HeldPage['after'] }> {
  // A boolean column and not a condition: it is evaluated from left to right, the cheap part first.
  const matched = all([since && sql`q.held_at >= ${since}`, matchesAny(others)])
  const found = await tx.many<WalkedRow & { is_match: boolean; is_end: boolean }>(sql`
    with page as materialized (
      select account_id, tenant_id, message_id, n, recipient, recipient_domain, held_at from queue
      where ${heldAfter(page)} order by message_id, n limit ${page.limit}
    ), judged as materialized (
      select account_id, tenant_id, message_id, n, recipient, recipient_domain, ${matched} as is_match,
        row_number() over (order by message_id, n) = ${page.limit} as is_end
      from page q
    )
    select account_id, tenant_id, message_id, n, recipient, recipient_domain, is_match, is_end from judged
    where is_match or is_end order by message_id, n`)
  const last = found.at(-1)
  return { rows: found.filter(row => row.is_match), end: last?.is_end ? last : null }
}

export const lockHeldBefore = (tx: Tx, page: Omit<HeldPage, 'after'>, heldBefore: Date): Promise<WalkedRow[]> =>
  tx.many<WalkedRow>(sql`
    select account_id, tenant_id, message_id, n, recipient, recipient_domain from queue
    where suspension_id = ${page.suspensionId} and status = 'held' and held_at < ${heldBefore}
    order by message_id, n limit ${page.limit} for update skip locked`)

/** Set aside after too many crashes, by no pause, for longer than the account allows. */
export const lockSetAsideOverdue = (tx: Tx, limit: number): Promise<WalkedRow[]> =>
  tx.many<WalkedRow>(sql`
    select q.account_id, q.tenant_id, q.message_id, q.n, q.recipient, q.recipient_domain
    from queue q join accounts a on a.id = q.account_id
    where q.status = 'held' and q.suspension_id is null
      and q.held_at < ${tx.now}::timestamptz - a.hold_ttl_seconds * interval '1 second'
    limit ${limit} for update of q skip locked`)

export const keysOf = (rows: readonly Key[]): Sql =>
  sql`${bareArray(rows.map(row => row.account_id))}::uuid[], ${bareArray(rows.map(row => row.tenant_id))}::uuid[],
    ${bareArray(rows.map(row => row.message_id))}::uuid[], ${bareArray(rows.map(row => row.n))}::integer[]`

/**
 * Each row at its place in its tenant's line. Retries end so long after it was accepted, and the time that it was held does
 * not count. Found where they lie: by their keys each would be looked for among its own former versions, and the planner
 * would rather read the table than follow so many places.
 */
export const updateReleased = (tx: Tx, rows: readonly { place: string; rank: Date }[]): void => {
  followIndexes(tx)
  // As milliseconds: a million times are quicker written and read as numbers.
  tx.send(prepared`
    update queue q set status = 'queued', suspension_id = null, held_at = null,
      accepted_at = q.accepted_at + (${tx.now}::timestamptz - q.held_at),
      rank = 'epoch'::timestamptz + o.rank * interval '1 millisecond', updated_at = ${tx.now}
    from unnest(${quoted(rows.map(row => row.place))}::tid[], ${bareArray(rows.map(row => row.rank.getTime()))}::bigint[])
      as o (place, rank)
    where q.ctid = o.place`)
}

const quoted = (places: readonly string[]): string => `{"${places.join('","')}"}`

export const updateMoved = (tx: Tx, rows: readonly (Key & { suspension_id: string })[], heldAt: Date | null): void =>
  tx.send(prepared`
    update queue q set suspension_id = o.suspension_id, held_at = coalesce(${heldAt}::timestamptz, q.held_at),
      accepted_at = q.accepted_at + (coalesce(${heldAt}::timestamptz, q.held_at) - q.held_at), updated_at = ${tx.now}
    from unnest(${keysOf(rows)}, ${rows.map(row => row.suspension_id)}::uuid[])
      as o (account_id, tenant_id, message_id, n, suspension_id)
    where ${isSameRow}`)

/** By their place, as above. Rows that another process is moving are skipped. */
export const updateAllMoved = (
  tx: Tx,
  { fromId, toId, limit }: { fromId: string; toId: string; limit: number },
): Promise<number> =>
  tx.run(sql`
    update queue q set suspension_id = ${toId}, updated_at = ${tx.now}
    where ctid = any(array(
      select ctid from queue where suspension_id = ${fromId} and status = 'held'
      order by message_id, n limit ${limit} for update skip locked))`)

/** Out of the queue for good, without having been sent. */
export const recordUnsent = (tx: Tx, rows: readonly Key[], status: 'cancelled' | 'expired'): void =>
  tx.send(prepared`
    with gone as (
      delete from queue q using unnest(${keysOf(rows)}) as o (account_id, tenant_id, message_id, n) where ${isSameRow}
      returning q.message_id, q.n, q.attempts
    )
    update deliveries d set status = ${status}, attempts = gone.attempts, updated_at = ${tx.now}
    from gone where d.message_id = gone.message_id and d.n = gone.n`)

interface FactsRow {
  id: string
  sender: string
  sender_domain: string
  credential_id: string | null
  api_key_id: string | null
  tags: string[]
}

/** By message id. */
export async function factsOfMessages(
  tx: Tx,
  rows: readonly WalkedRow[],
): Promise<Map<string, Omit<PauseFacts, 'tenantId' | 'recipientDomain'>>> {
  const ids = [...new Set(rows.map(row => row.message_id))]
  const found = await tx.many<FactsRow>(prepared`
    select id, sender, sender_domain, credential_id, api_key_id, tags from messages where id = any(${ids}::uuid[])`)
  return new Map(
    found.map(row => [
      row.id,
      {
        sender: row.sender,
        senderDomain: row.sender_domain,
        credentialId: row.credential_id,
        apiKeyId: row.api_key_id,
        tags: row.tags,
      },
    ]),
  )
}

export const holdsAnything = async (tx: Tx, suspensionId: string): Promise<boolean> => {
  const { holds } = await tx.one<{ holds: boolean }>(sql`
    select exists (select from queue where suspension_id = ${suspensionId} and status = 'held') as holds`)
  return holds
}
