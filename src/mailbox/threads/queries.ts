// All SQL over threads; the only writer of that table. A transaction that writes has locked the inbox.
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { isLookedUpBy } from '../../platform/db/planner.ts'
import { all, bareArray, prepared, sql } from '../../platform/db/sql.ts'
import type { RowOf } from '../../platform/db/times.ts'
import type { Found } from '../../platform/http/paging.ts'
import { withinInbox, type Reach } from '../../platform/principal.ts'
import type { Thread } from './contract.ts'
import type { ThreadDelta } from './counts.ts'

export interface StoredThread extends Omit<RowOf<Thread, 'last_message_at' | 'created_at'>, 'tainted'> {
  account_id: string
  tenant_id: string
  is_tainted: boolean
}

const columns = sql`t.id, t.account_id, t.tenant_id, t.inbox_id, t.subject, t.participants, t.message_count,
  t.unread_count, t.labels, t.is_tainted, t.taint_reasons, t.last_message_at, t.created_at`

/** Merges do not chain: a thread that is merged takes along what was merged into it before. */
export const findThread = (db: Db, reach: Reach, id: string): Promise<StoredThread | null> =>
  db.maybe<StoredThread>(prepared`
    select ${columns} from threads named
    join threads t on t.id = coalesce(named.merged_into, named.id)
    join inboxes i on i.id = t.inbox_id
    where named.id = ${id} and i.deleted_at is null and ${withinInbox(reach, sql`t`)}`)

export const hasMessageOutside = async (db: Db, threadId: string, folderIds: readonly string[]): Promise<boolean> =>
  (await db.maybe(prepared`
    select 1 as found from inbox_messages
    where thread_id = ${threadId} and folder_id <> all(${bareArray(folderIds)}::uuid[]) limit 1`)) !== null

export const countDiscardedMessages = (
  db: Reads,
  { threadIds, folderIds }: { threadIds: readonly string[]; folderIds: readonly string[] },
): Promise<{ thread_id: string; total: number; unread: number }[]> =>
  db.many(prepared`
    select thread_id, count(*)::int as total, (count(*) filter (where not is_read))::int as unread
    from inbox_messages
    where thread_id = any(${bareArray(threadIds)}::uuid[]) and folder_id = any(${bareArray(folderIds)}::uuid[])
    group by thread_id`)

export type ThreadPosition = [lastMessageAt: string, id: string]

/** Of participants and findings on a page: a thread may have 25 KB of addresses. */
const PAGE_BYTES_MAX = 1024 * 1024

/** A page ends early when its threads are large. */
export async function listThreads(
  db: Reads,
  { inboxId, after, limit }: { inboxId: string; after: ThreadPosition | null; limit: number },
): Promise<Found<StoredThread>> {
  const rows = await db.many<StoredThread & { found: number }>(prepared`
    with found as materialized (
      select ${columns} from threads t
      where ${all([
        sql`t.inbox_id = ${inboxId} and t.merged_into is null and t.visible_count > 0`,
        after !== null && sql`(t.last_message_at, t.id) < (${after?.[0]}::timestamptz, ${after?.[1]}::uuid)`,
      ])}
      order by t.last_message_at desc, t.id desc limit ${limit}
    ), sized as (
      select t.*, row_number() over newest_first as ordinal,
        sum(octet_length(t.participants::text) + octet_length(t.taint_reasons::text) + octet_length(t.subject))
          over newest_first as bytes
      from found t
      window newest_first as (order by t.last_message_at desc, t.id desc rows unbounded preceding)
    )
    select ${columns}, (select count(*)::int from found) as found from sized t
    where t.bytes <= ${PAGE_BYTES_MAX} or t.ordinal = 1
    order by t.last_message_at desc, t.id desc`)
  const isCut = (rows[0]?.found ?? 0) > rows.length
  return { rows: rows.map(({ found: _, ...row }) => row), isCut }
}

export async function updateThreadLabels(tx: Tx, id: string, labels: readonly string[]): Promise<void> {
  await tx.run(sql`update threads set labels = ${labels} where id = ${id}`)
}

export async function updateThreadUntainted(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`update threads set is_tainted = false, taint_reasons = '[]' where id = ${id}`)
}

/** Travels with the commit. */
export function updateThreadCounts(tx: Tx, deltas: readonly ThreadDelta[]): void {
  tx.alongIndexes.send(prepared`
    update threads t set message_count = t.message_count + d.messages, unread_count = t.unread_count + d.unread,
      visible_count = t.visible_count + d.visible
    from unnest(${bareArray(deltas.map(each => each.threadId))}::uuid[],
      ${bareArray(deltas.map(each => each.messages))}::int[], ${bareArray(deltas.map(each => each.unread))}::int[],
      ${bareArray(deltas.map(each => each.visible))}::int[]) as d (id, messages, unread, visible)
    where ${isLookedUpBy(sql`t.id`, sql`d.id`)}`)
}

export const listEmptyThreads = (tx: Tx, ids: readonly string[]): Promise<{ id: string; is_tainted: boolean }[]> =>
  tx.many(prepared`
    select t.id, t.is_tainted from threads t
    where t.id = any(${bareArray(ids)}::uuid[])
      and not exists (select from inbox_messages m where m.thread_id = t.id)`)

/** A thread that others were merged into takes them along: their ids lead nowhere any more. */
export async function deleteThreads(tx: Tx, ids: readonly string[]): Promise<void> {
  const empty = bareArray(ids)
  await tx.run(prepared`delete from thread_references where thread_id = any(${empty}::uuid[])`)
  await tx.run(prepared`delete from threads where merged_into = any(${empty}::uuid[])`)
  await tx.run(prepared`delete from threads where id = any(${empty}::uuid[])`)
}

export const deleteReferencesOfInbox = (tx: Tx, inboxId: string, limit: number): Promise<number> =>
  tx.run(sql`
    delete from thread_references
    where inbox_id = ${inboxId} and rfc_id in (
      select rfc_id from thread_references where inbox_id = ${inboxId} order by rfc_id limit ${limit})`)

export const deleteThreadsOfInbox = (tx: Tx, inboxId: string, limit: number): Promise<number> =>
  tx.run(sql`
    delete from threads where id in (select id from threads where inbox_id = ${inboxId} limit ${limit})`)
