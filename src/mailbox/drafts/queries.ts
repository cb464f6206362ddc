// SQL over drafts and their attachments. Their leases are in due-queries.ts; nothing else writes those tables.
import type { Attachment } from '../../mail/mime/attachment.ts'
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { all, bareArray, commaSeparated, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import type { Found, Keyset } from '../../platform/http/paging.ts'
import { newId } from '../../platform/ids.ts'
import { withinInbox, type Reach } from '../../platform/principal.ts'
import { missing } from '../../platform/refusal.ts'
import { forwardedBytes, quotedBytes } from '../compose/original.ts'
import type { AttachmentRow } from '../messages/find.ts'

/** Who asked for a scheduled send, as it is kept until then. */
interface Requester {
  key_id: string
  name: string
}

/** What its owner decides. */
export interface DraftContent {
  thread_id: string | null
  reply_to_id: string | null
  forwarded_id: string | null
  to_list: string[]
  cc_list: string[]
  bcc_list: string[]
  subject: string | null
  text: string | null
  html: string | null
  scheduled_at: Date | null
}

export interface StoredDraft extends DraftContent {
  id: string
  account_id: string
  tenant_id: string
  inbox_id: string
  requested_by: Requester
  created_at: Date
  updated_at: Date
  due_at: Date | null
  attempts: number
  lease_token: string | null
  last_error: string | null
  /** The thread that it continues is gone, and was tainted. */
  is_tainted: boolean
  attachments: StoredAttachment[]
}

type StoredAttachment = Omit<AttachmentRow, 'source_id'>

const columns = sql`d.id, d.account_id, d.tenant_id, d.inbox_id, d.thread_id, d.reply_to_id, d.forwarded_id, d.to_list,
  d.cc_list, d.bcc_list, d.subject, d.text, d.html, d.scheduled_at, d.requested_by, d.created_at, d.updated_at, d.due_at,
  d.attempts, d.lease_token, d.last_error, d.is_tainted, coalesce((
    select json_agg(json_build_object('id', a.id, 'filename', a.filename, 'content_type', a.content_type,
      'content_id', a.content_id, 'is_inline', a.is_inline, 'size', a.size) order by a.n)
    from draft_attachments a where a.draft_id = d.id), '[]') as attachments`

const textBytes = sql`coalesce(octet_length(d.text), 0) + coalesce(octet_length(d.html), 0)`
const nameBytes = sql`coalesce(octet_length(a.filename), 0) + octet_length(a.content_type)
  + coalesce(octet_length(a.content_id), 0)`

/** Of what a draft shows. */
const shownBytes = sql`(${textBytes} + octet_length(d.to_list::text) + octet_length(d.cc_list::text)
  + octet_length(d.bcc_list::text)
  + (select coalesce(sum(${nameBytes}), 0) from draft_attachments a where a.draft_id = d.id))::bigint`

/**
 * Of the mail that a draft becomes, told without reading it. Lists of addresses are stored compressed: ordinary ones to a half
 * or a third, one that repeats itself to an eightieth. A forward has what it forwards, and a reply without a text of its own
 * what it quotes.
 */
export const sentBytes = sql`(${textBytes}
  + 16 * (pg_column_size(d.to_list) + pg_column_size(d.cc_list) + pg_column_size(d.bcc_list))
  + (select coalesce(sum(a.size + ${nameBytes}), 0)::int from draft_attachments a where a.draft_id = d.id)
  + case when d.forwarded_id is not null then coalesce(${forwardedBytes(sql`d.forwarded_id`)}, 0)
      when d.reply_to_id is not null and d.text is null and d.html is null
        then coalesce(${quotedBytes(sql`d.reply_to_id`)}, 0)
      else 0 end)`

/** A draft of an inbox that was deleted is gone with it. */
const reachable = (reach: Reach) =>
  sql`${withinInbox(reach, sql`d`)} and exists (select from inboxes i where i.id = d.inbox_id and i.deleted_at is null)`

/** Of what a page shows; the largest draft may have twenty times as much and comes alone. */
const PAGE_BYTES_MAX = 2_000_000

/** One after the other, because to measure a draft is to expand it: none is looked at behind the end of the page. */
export async function listDrafts(
  db: Reads,
  inboxId: string,
  { after, limit }: Keyset<string>,
): Promise<Found<StoredDraft>> {
  const newestBefore = (id: Sql | null) => sql`
    select d.id, ${shownBytes} as bytes from drafts d
    where ${all([sql`d.inbox_id = ${inboxId}`, id && sql`d.id < ${id}`])} order by d.id desc limit 1`
  const rows = await db.many<StoredDraft>(sql`
    with recursive page as (
      select id, bytes, 1 as ordinal from (${newestBefore(after === null ? null : sql`${after}`)}) first
      union all
      select next.id, page.bytes + next.bytes, page.ordinal + 1
      from page cross join lateral (${newestBefore(sql`page.id`)}) next
      where page.ordinal < ${limit} and page.bytes <= ${PAGE_BYTES_MAX}
    )
    select ${columns} from page join drafts d on d.id = page.id
    where page.bytes <= ${PAGE_BYTES_MAX} or page.ordinal = 1 order by d.id desc`)
  const isCut = rows.length < limit && rows.length > 0 && (await hasOlder(db, inboxId, rows.at(-1)!.id))
  return { rows, isCut }
}

const hasOlder = async (db: Reads, inboxId: string, id: string): Promise<boolean> =>
  (await db.many(sql`select 1 from drafts where inbox_id = ${inboxId} and id < ${id} limit 1`)).length > 0

export const countDrafts = (db: Db, inboxId: string): Promise<number> =>
  db.value<number>(prepared`select count(*)::int from drafts where inbox_id = ${inboxId}`)

export const requireDraft = async (db: Db, reach: Reach, id: string): Promise<StoredDraft> =>
  (await db.maybe<StoredDraft>(prepared`
    select ${columns} from drafts d where d.id = ${id} and ${reachable(reach)}`)) ?? missing('draft')

/** Of the mail that it becomes. */
export const requireDraftSize = async (db: Db, reach: Reach, id: string) =>
  (await db.maybe<{ inbox_id: string; bytes: number }>(prepared`
    select d.inbox_id, ${sentBytes} as bytes from drafts d where d.id = ${id} and ${reachable(reach)}`)) ??
  missing('draft')

/** Finds and locks: nobody else changes, claims or sends it until the transaction ends. */
export const requireDraftForUpdate = async (tx: Tx, reach: Reach, id: string): Promise<StoredDraft> =>
  (await tx.maybe<StoredDraft>(prepared`
    select ${columns} from drafts d where d.id = ${id} and ${reachable(reach)} for update of d`)) ?? missing('draft')

/** Of drafts that their caller has claimed. */
export const listDraftsAnywhere = (db: Db, ids: readonly string[]): Promise<StoredDraft[]> =>
  db.many<StoredDraft>(prepared`select ${columns} from drafts d where d.id = any(${ids}::uuid[])`)

/** Not in a folder that was discarded. */
export const findOriginal = (db: Db, inboxId: string, id: string): Promise<{ thread_id: string } | null> =>
  db.maybe<{ thread_id: string }>(prepared`
    select m.thread_id from inbox_messages m join folders f on f.id = m.folder_id and f.discarded_at is null
    where m.id = ${id} and m.inbox_id = ${inboxId}`)

export async function insertDraft(
  tx: Tx,
  draft: DraftContent & Pick<StoredDraft, 'id' | 'account_id' | 'tenant_id' | 'inbox_id' | 'requested_by'>,
): Promise<void> {
  await tx.run(sql`
    insert into drafts (id, account_id, tenant_id, inbox_id, thread_id, reply_to_id, forwarded_id, to_list, cc_list, bcc_list,
      subject, text, html, scheduled_at, due_at, requested_by, created_at, updated_at)
    values (${draft.id}, ${draft.account_id}, ${draft.tenant_id}, ${draft.inbox_id}, ${draft.thread_id},
      ${draft.reply_to_id}, ${draft.forwarded_id}, ${draft.to_list}, ${draft.cc_list}, ${draft.bcc_list}, ${draft.subject},
      ${draft.text}, ${draft.html}, ${draft.scheduled_at}, ${draft.scheduled_at}, ${draft.requested_by}, ${tx.now},
      ${tx.now})`)
}

export async function updateDraftContent(tx: Tx, id: string, content: DraftContent, by: Requester): Promise<void> {
  await tx.run(sql`
    update drafts set thread_id = ${content.thread_id}, reply_to_id = ${content.reply_to_id},
      forwarded_id = ${content.forwarded_id}, to_list = ${content.to_list}, cc_list = ${content.cc_list},
      bcc_list = ${content.bcc_list}, subject = ${content.subject}, text = ${content.text}, html = ${content.html},
      scheduled_at = ${content.scheduled_at}, due_at = ${content.scheduled_at}, requested_by = ${by}, attempts = 0,
      last_error = null, lease_token = null, updated_at = ${later(tx)}
    where id = ${id}`)
}

/** By which a sender knows whether the draft is as it was read, also where two changes fall into one millisecond. */
const later = ({ now }: Tx) => sql`greatest(${now}, updated_at + interval '1 millisecond')`

/** The others are removed. `n`: their order from now on. */
export async function keepDraftAttachments(tx: Tx, draftId: string, kept: readonly { id: string; n: number }[]) {
  const ids = kept.map(({ id }) => id)
  await tx.run(sql`delete from draft_attachments where draft_id = ${draftId} and id <> all(${ids}::uuid[])`)
  if (kept.length === 0) return
  // Out of the way first: no two may have the same number, not even while they change.
  await tx.run(sql`update draft_attachments set n = -1 - n where draft_id = ${draftId}`)
  await tx.run(sql`
    update draft_attachments a set n = o.n
    from unnest(${ids}::uuid[], ${kept.map(({ n }) => n)}::integer[]) as o (id, n)
    where a.draft_id = ${draftId} and a.id = o.id`)
}

/** One bound value per attachment: an array of them would travel as text, twice as long. `ordinals`: where others stay. */
export async function insertDraftAttachments(
  tx: Tx,
  draftId: string,
  attachments: readonly Attachment[],
  ordinals: readonly number[] | null = null,
): Promise<void> {
  if (attachments.length === 0) return
  const rows = attachments.map(
    (
      each,
      n,
    ) => sql`(${newId(tx.now)}::uuid, ${draftId}::uuid, ${ordinals ? ordinals[n]! : n}::integer, ${each.filename}::text,
      ${each.contentType ?? 'application/octet-stream'}::text, ${each.contentId}::text, ${each.inline}::boolean,
      ${each.content.length}::integer, ${each.content}::bytea)`,
  )
  await tx.run(sql`
    insert into draft_attachments (id, draft_id, n, filename, content_type, content_id, is_inline, size, content)
    values ${commaSeparated(rows)}`)
}

export const listDraftContents = (db: Db, draftId: string): Promise<(StoredAttachment & { content: Buffer })[]> =>
  db.many(prepared`
    select id, filename, content_type, content_id, is_inline, size, content from draft_attachments
    where draft_id = ${draftId} order by n`)

export async function updateDraftSchedule(tx: Tx, id: string, scheduledAt: Date | null, by: Requester): Promise<void> {
  await tx.run(sql`
    update drafts set scheduled_at = ${scheduledAt}, due_at = ${scheduledAt}, requested_by = ${by}, attempts = 0,
      last_error = null, lease_token = null, updated_at = ${later(tx)}
    where id = ${id}`)
}

/** Locks the draft where it is still as it was read, and under the same lease. */
export const lockUnchangedDraft = (
  tx: Tx,
  { id, updated_at, leaseToken }: Pick<StoredDraft, 'id' | 'updated_at'> & { leaseToken: string | null },
): Promise<{ is_tainted: boolean } | null> =>
  tx.maybe(prepared`
    select is_tainted from drafts
    where id = ${id} and updated_at = ${updated_at} and lease_token is not distinct from ${leaseToken}
    for update`)

/** Before these threads, which are tainted, are deleted. A draft may also name one that became part of one of them. */
export async function updateDraftsTainted(tx: Tx, threadIds: readonly string[]): Promise<void> {
  const ids = bareArray(threadIds)
  await tx.run(prepared`
    update drafts set is_tainted = true
    where thread_id in (
      select id from unnest(${ids}::uuid[]) as id
      union all select id from threads where merged_into = any(${ids}::uuid[]))`)
}

/** With their attachments. */
export const deleteDraftsOfInbox = (tx: Tx, inboxId: string, limit: number): Promise<number> =>
  tx.run(sql`
    delete from drafts where id in (select id from drafts where inbox_id = ${inboxId} order by id limit ${limit})`)

export const deleteDraftRow = (tx: Tx, id: string): Promise<number> =>
  tx.run(prepared`delete from drafts where id = ${id}`)
