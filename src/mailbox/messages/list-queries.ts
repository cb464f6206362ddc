// Lists of messages, newest first. Every statement reads a bounded number of rows, whatever the size of the inbox: what no
// index finds is looked for among the newest rows only, and the page then ends early with a cursor to go on from.
import type { Db, Reads } from '../../platform/db/database.ts'
import { all, bareArray, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import type { Found } from '../../platform/http/paging.ts'
import { columns, type MessageRow } from './queries.ts'

/** Rows looked at for one page with a filter that has no index. */
const SCAN_MAX = 5_000
/** Of addresses, references and findings on a page: a message may have 300 KB of them. */
const PAGE_BYTES_MAX = 1024 * 1024

interface ListFilter {
  inboxId: string
  /** Folders of the view that have any message of the kind. */
  folderIds: readonly string[]
  /** The view is one folder. */
  isOneFolder: boolean
  isUnread: boolean
  isRead: boolean
  direction: 'in' | 'out' | null
  label: string | null
  from: string | null
  after: string | null
  limit: number
}

export async function listMessages(db: Reads, filter: ListFilter): Promise<Found<MessageRow>> {
  if (filter.folderIds.length === 0) return { rows: [], isCut: false }
  const isScanned = filter.label !== null || filter.direction !== null || filter.from !== null || filter.isRead
  const page = cutPage(await db.many(pageOf(isScanned ? scanned(filter) : merged(filter))))
  if (!isScanned || page.isCut || page.rows.length >= filter.limit) return page
  const endedAt = await findScanEnd(db, filter)
  return endedAt === null ? page : { ...page, isCut: true, endedAt }
}

/** The newest of each folder, merged: skips whole folders, so that a trash of any size costs nothing. */
const merged = ({ folderIds, isUnread, after, limit }: ListFilter): Sql => sql`
  select newest.id from unnest(${bareArray(folderIds)}::uuid[]) as folder (id)
  cross join lateral (
    select m.id from inbox_messages m
    where ${all([sql`m.folder_id = folder.id`, isUnread && sql`not m.is_read`, after !== null && sql`m.id < ${after}`])}
    order by m.id desc limit ${limit}
  ) newest
  order by newest.id desc limit ${limit}`

/** Those of the newest SCAN_MAX that the filter lets through. */
const scanned = (filter: ListFilter): Sql => sql`
  select candidate.id from (${scan(filter)}) candidate
  where ${all([
    sql`candidate.folder_id = any(${bareArray(filter.folderIds)}::uuid[])`,
    filter.isUnread && sql`not candidate.is_read`,
    filter.isRead && sql`candidate.is_read`,
    filter.direction !== null && sql`candidate.direction = ${filter.direction}`,
    filter.from !== null && sql`candidate.from_text ilike ${`%${filter.from.replace(/[\\%_]/g, '\\$&')}%`}`,
  ])}
  order by candidate.id desc limit ${filter.limit}`

function scan({ inboxId, folderIds, isOneFolder, label, after }: ListFilter): Sql {
  const filtered = sql`m.id, m.folder_id, m.is_read, m.direction, m.from_text`
  if (label !== null) {
    return sql`
      select ${filtered} from (
        select message_id from message_labels
        where ${all([sql`inbox_id = ${inboxId} and label = ${label}`, after !== null && sql`message_id < ${after}`])}
        order by message_id desc limit ${SCAN_MAX}
      ) labelled join inbox_messages m on m.id = labelled.message_id`
  }
  return sql`
    select ${filtered} from inbox_messages m
    where ${all([
      isOneFolder ? sql`m.folder_id = ${folderIds[0]}` : sql`m.inbox_id = ${inboxId}`,
      after !== null && sql`m.id < ${after}`,
    ])}
    order by m.id desc limit ${SCAN_MAX}`
}

/** The last row that was looked at; null when there were none left. */
async function findScanEnd(db: Reads, filter: ListFilter): Promise<string | null> {
  const [last] = await db.many<{ id: string }>(sql`
    select id from (${scan(filter)}) candidate order by id desc offset ${SCAN_MAX - 1}`)
  return last?.id ?? null
}

/** A page ends early when its messages are large. */
function pageOf(ids: Sql, { isAscending = false } = {}): Sql {
  const order = isAscending ? sql`order by m.id` : sql`order by m.id desc`
  return sql`
    with found as materialized (${ids}),
      sized as materialized (
        select m.id, row_number() over in_order as ordinal, sum(
          octet_length(m.to_list::text) + octet_length(m.cc_list::text) + octet_length(m.bcc_list::text)
          + octet_length(m.reference_ids::text) + octet_length(m.labels::text)
          + coalesce(octet_length(m.shield::text), 0) + coalesce(octet_length(m.auth::text), 0)
          + coalesce(octet_length(m.extracted_data::text), 0)) over in_order as bytes
        from found join inbox_messages m on m.id = found.id
        window in_order as (${order} rows unbounded preceding)
      )
    select ${columns}, (select count(*)::int from found) as found
    from sized join inbox_messages m on m.id = sized.id join folders f on f.id = m.folder_id
    where sized.bytes <= ${PAGE_BYTES_MAX} or sized.ordinal = 1
    ${order}`
}

interface ThreadPage {
  threadId: string
  /** Trash, and what is gone. */
  hiddenFolderIds: readonly string[]
  after: string | null
  limit: number
}

/** Messages of a thread, oldest first. */
export async function listThreadMessages(
  db: Reads,
  { threadId, hiddenFolderIds, after, limit }: ThreadPage,
): Promise<Found<MessageRow>> {
  const ids = sql`
    select id from inbox_messages
    where ${all([
      sql`thread_id = ${threadId} and folder_id <> all(${bareArray(hiddenFolderIds)}::uuid[])`,
      after !== null && sql`id > ${after}`,
    ])}
    order by id limit ${limit}`
  return cutPage(await db.many<MessageRow & { found: number }>(pageOf(ids, { isAscending: true })))
}

function cutPage(rows: (MessageRow & { found: number })[]): Found<MessageRow> {
  const isCut = (rows[0]?.found ?? 0) > rows.length
  return { rows: rows.map(({ found: _, ...row }) => row), isCut }
}

/** How many of a thread's messages are in this folder. */
export const countInThread = (db: Db, threadId: string, folderId: string) =>
  db.one<{ total: number; blocked: number }>(prepared`
    select count(*)::int as total, (count(*) filter (where is_blocked))::int as blocked
    from inbox_messages where thread_id = ${threadId} and folder_id = ${folderId}`)
