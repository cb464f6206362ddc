// The SQL of held mail: parking what waits, releasing, cancelling, expiring, moving from one pause to another.
import { matchesAny, type PauseScope } from '../../control/suspensions/scopes.ts'
import type { Db, Tx } from '../../platform/db/database.ts'
import { all, bareArray, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import { isSameRow, queuedColumns, type DeliveryKey, type Key, type QueuedRow } from './keys.ts'

/** What an event says of it: a million rows are told, so no more is read. */
export interface HeldRow {
  message_id: string
  tenant_id: string
  recipient: string
}

/** Where in the scan over an account's queue. */
export interface QueuePosition {
  tenant_id: string
  message_id: string
  n: number
}

export interface Scan {
  accountId: string
  /** Null: the whole account. */
  tenantId: string | null
  after: QueuePosition | null
  limit: number
}

export interface KeyRange {
  scan: Omit<Scan, 'limit'>
  end: QueuePosition
}

/** The next range of an account's queue, by tenant and message, whatever the status. Its end bounds one batch. */
export const findRangeEnd = (db: Db, scan: Scan) =>
  db.maybe<QueuePosition & { count: number; is_last: boolean }>(sql`
    select tenant_id, message_id, n, count, count < ${scan.limit} as is_last
    from (
      select tenant_id, message_id, n, count(*) over () as count, row_number() over () as position
      from (select tenant_id, message_id, n from queue where ${rangeAfter(scan)}
        order by account_id, tenant_id, message_id, n limit ${scan.limit}) rows
    ) counted
    where position = count`)

/**
 * A tenant is compared as equal and the rest of the key as a row: with all three in the row beside the equal tenant, the
 * scan would begin at the tenant's first entry each time.
 */
const rangeAfter = ({ accountId, tenantId, after }: Omit<Scan, 'limit'>): Sql =>
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
 * Holds what waits in the range and the pause matches. Rows that a worker is taking are left out. By the `ctid` of the
 * rows: joined by their keys, the planner takes a range of a fast-growing table for a large part of it, and reads it
 * all.
 */
export const parkRange = (tx: Tx, pause: PauseScope, range: KeyRange): Promise<HeldRow[]> =>
  tx.many<HeldRow>(sql`
    update queue q
    set status = 'held', suspension_id = ${pause.id}, held_at = ${tx.now}, due_at = null, updated_at = ${tx.now}
    where ctid = any(array(
      select q.ctid from queue q
      where ${inRange(range)} and q.status in ('queued', 'deferred') and ${matchesAny([pause])}
      for update of q skip locked))
    returning q.message_id, q.tenant_id, q.recipient`)

/** Whether the pause matches something in the range that still waits: claims lock more rows than they take. */
export const isAnyWaiting = async (tx: Tx, pause: PauseScope, range: KeyRange): Promise<boolean> => {
  const row = await tx.maybe(sql`
    select from queue q
    where ${inRange(range)} and q.status in ('queued', 'deferred') and ${matchesAny([pause])} limit 1`)
  return row !== null
}

const inRange = ({ scan, end }: KeyRange): Sql =>
  sql`${rangeAfter(scan)} and ${keyOf(scan.tenantId)} <= ${valueOf(scan.tenantId, end)}`

/** Part of what a pause holds, in the order of its messages. */
export interface HeldPage {
  suspensionId: string
  after: DeliveryKey | null
  /** Null: as far as the limit goes. */
  end: DeliveryKey | null
  limit: number
}

const heldAfter = ({ suspensionId, after }: Pick<HeldPage, 'suspensionId' | 'after'>): Sql =>
  all([
    sql`suspension_id = ${suspensionId} and status = 'held'`,
    after && sql`(message_id, n) > (${after.message_id}::uuid, ${after.n}::integer)`,
  ])

const heldIn = (page: HeldPage): Sql =>
  all([heldAfter(page), page.end && sql`(message_id, n) <= (${page.end.message_id}::uuid, ${page.end.n}::integer)`])

/** A row that is locked, and where it lies. */
export interface LockedRow extends HeldRow {
  n: number
  row_id: string
}

/**
 * The next rows that a pause holds, without a lock: how many of each tenant, and the last of them. Planned each time: a plan
 * from when the queue was empty would sort all that is held.
 */
export const listHeldByTenant = (db: Db, page: Omit<HeldPage, 'end'>) =>
  db.many<DeliveryKey & { tenant_id: string; count: number }>(sql`
    with page as materialized (
      select tenant_id, message_id, n from queue where ${heldAfter(page)} order by message_id, n limit ${page.limit})
    select tenant_id, count(*) as count, last.message_id, last.n
    from page, (select message_id, n from page order by message_id desc, n desc limit 1) last
    group by tenant_id, last.message_id, last.n`)

/** The next rows that a pause holds, locked; what another process is releasing is skipped. */
export const lockHeld = (tx: Tx, page: HeldPage): Promise<LockedRow[]> =>
  tx.many<LockedRow>(lockedHeld(sql`tenant_id, message_id, n, recipient, ctid::text as row_id`, page))

/** The next rows that a pause holds, locked, with all that can be asked about them. */
export const lockHeldWhole = (tx: Tx, page: HeldPage): Promise<(LockedRow & QueuedRow)[]> =>
  tx.many<LockedRow & QueuedRow>(lockedHeld(sql`${queuedColumns}, ctid::text as row_id`, page))

const lockedHeld = (columns: Sql, page: HeldPage): Sql =>
  sql`select ${columns} from queue q where ${heldIn(page)} order by message_id, n limit ${page.limit} for update skip locked`

/** What one of the others matches of a page, without a lock. */
export const listHeldMatching = (tx: Tx, page: HeldPage, others: readonly PauseScope[]): Promise<QueuedRow[]> =>
  tx.many<QueuedRow>(sql`
    select ${queuedColumns} from queue q
    where ${heldIn(page)} and ${matchesAny(others)} limit ${page.limit}`)

export const lockHeldBefore = (tx: Tx, page: Pick<HeldPage, 'suspensionId' | 'limit'>, heldBefore: Date) =>
  tx.many<QueuedRow>(sql`
    select ${queuedColumns} from queue q
    where suspension_id = ${page.suspensionId} and status = 'held' and held_at < ${heldBefore}
    order by message_id, n limit ${page.limit} for update skip locked`)

/** What waits to leave through the provider of an inbox. Rows that a worker is taking are left out. */
export const lockRelayed = (tx: Tx, inboxId: string, limit: number): Promise<QueuedRow[]> =>
  tx.many<QueuedRow>(sql`
    select ${queuedColumns} from queue q
    where relay_inbox_id = ${inboxId} and status in ('queued', 'deferred')
    order by message_id, n limit ${limit} for update skip locked`)

const keysOf = (rows: readonly Key[]): Sql =>
  sql`${bareArray(rows.map(row => row.account_id))}::uuid[], ${bareArray(rows.map(row => row.tenant_id))}::uuid[],
    ${bareArray(rows.map(row => row.message_id))}::uuid[], ${bareArray(rows.map(row => row.n))}::integer[]`

/**
 * Each row at its rank in its tenant's line. Retries end so long after it was accepted, and the time that it was held does
 * not count. Found where they lie: by their keys each would be looked for among its own former versions, and the planner
 * would rather read the table than look up so many rows.
 */
export const updateReleased = (tx: Tx, rows: readonly { row_id: string; rank: Date }[]): void => {
  // As milliseconds: a million times are quicker written and read as numbers.
  tx.alongIndexes.send(prepared`
    update queue q set status = 'queued', suspension_id = null, held_at = null,
      accepted_at = q.accepted_at + (${tx.now}::timestamptz - q.held_at),
      rank = 'epoch'::timestamptz + o.rank * interval '1 millisecond', updated_at = ${tx.now}
    from unnest(${quoted(rows.map(row => row.row_id))}::tid[], ${bareArray(rows.map(row => row.rank.getTime()))}::bigint[])
      as o (row_id, rank)
    where q.ctid = o.row_id`)
}

const quoted = (rowIds: readonly string[]): string => `{"${rowIds.join('","')}"}`

/** From a pause to others, held as long as before. Answers to which: what another process has moved is left alone. */
export const updateMoved = async (tx: Tx, fromId: string, rows: readonly (Key & { suspension_id: string })[]) => {
  const moved = await tx.alongIndexes.many<{ suspension_id: string }>(prepared`
    update queue q set suspension_id = o.suspension_id, updated_at = ${tx.now}
    from unnest(${keysOf(rows)}, ${bareArray(rows.map(row => row.suspension_id))}::uuid[])
      as o (account_id, tenant_id, message_id, n, suspension_id)
    where ${isSameRow} and q.suspension_id = ${fromId}
    returning q.suspension_id`)
  return moved.map(row => row.suspension_id)
}

/** Waiting rows that this transaction has locked, to the pauses that hold them from now on. */
export function updateHeld(tx: Tx, rows: readonly (Key & { suspension_id: string })[]): void {
  tx.alongIndexes.send(prepared`
    update queue q
    set status = 'held', suspension_id = o.suspension_id, held_at = ${tx.now}, due_at = null, updated_at = ${tx.now}
    from unnest(${keysOf(rows)}, ${bareArray(rows.map(row => row.suspension_id))}::uuid[])
      as o (account_id, tenant_id, message_id, n, suspension_id)
    where ${isSameRow}`)
}

/** By their `ctid`. Rows that another process is moving are skipped. */
export const updateAllMoved = (tx: Tx, { fromId, toId, limit }: { fromId: string; toId: string; limit: number }) =>
  tx.run(sql`
    update queue q set suspension_id = ${toId}, updated_at = ${tx.now}
    where ctid = any(array(
      select ctid from queue where suspension_id = ${fromId} and status = 'held'
      order by message_id, n limit ${limit} for update skip locked))`)

/** Out of the queue for good, without having been sent. */
export function recordUnsent(tx: Tx, rows: readonly Key[], status: 'cancelled' | 'expired'): void {
  tx.alongIndexes.send(prepared`
    with gone as (
      delete from queue q using unnest(${keysOf(rows)}) as o (account_id, tenant_id, message_id, n) where ${isSameRow}
      returning q.message_id, q.n, q.attempts
    )
    update deliveries d set status = ${status}, attempts = gone.attempts, updated_at = ${tx.now}
    from gone where d.message_id = gone.message_id and d.n = gone.n`)
}

interface FactsRow {
  id: string
  sender: string
  sender_domain: string
  credential_id: string | null
  api_key_id: string | null
  tags: string[]
}

/** What pauses may ask of the messages, by id. */
export async function factsOfMessages(tx: Tx, rows: readonly QueuedRow[]) {
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

export const holdsAnything = (tx: Tx, suspensionId: string): Promise<boolean> =>
  tx.value<boolean>(sql`
    select exists (select from queue where suspension_id = ${suspensionId} and status = 'held')`)
