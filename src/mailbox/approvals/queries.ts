// All SQL over approvals; the only writer of that table. A transaction that writes has locked the inbox.
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { all, bareArray, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import type { Found } from '../../platform/http/paging.ts'
import { withinInbox, type Reach } from '../../platform/principal.ts'
import { missing } from '../../platform/refusal.ts'
import type { Envelope } from '../compose/mail.ts'
import type { Reason } from '../compose/policy-reasons.ts'
import { storableJson } from '../storable.ts'

type ApprovalStatus = 'pending' | 'approved' | 'rejected' | 'sent'

export interface Requester {
  type: string
  id: string | null
  name: string
}

interface NewApproval {
  id: string
  account_id: string
  tenant_id: string
  inbox_id: string
  inbox_message_id: string
  reasons: readonly Reason[]
  requested_by: Requester
  requested_key_id: string | null
  envelope: Envelope
  /** Hexadecimal. */
  content_hash: string
  expires_at: Date
}

export async function insertApprovals(tx: Tx, approvals: readonly NewApproval[]): Promise<void> {
  await tx.run(prepared`
    insert into approvals (id, account_id, tenant_id, inbox_id, inbox_message_id, status, reasons, requested_by,
      requested_key_id, envelope, content_hash, created_at, expires_at)
    select id, account_id, tenant_id, inbox_id, inbox_message_id, 'pending', reasons, requested_by, requested_key_id,
      envelope, decode(content_hash, 'hex'), ${tx.now}, expires_at
    from json_to_recordset(${storableJson(approvals)}::json) as a (id uuid, account_id uuid, tenant_id uuid,
      inbox_id uuid, inbox_message_id uuid, reasons jsonb, requested_by jsonb, requested_key_id uuid, envelope jsonb,
      content_hash text, expires_at timestamptz)`)
}

export interface StoredApproval extends Omit<NewApproval, 'reasons' | 'envelope' | 'content_hash'> {
  status: ApprovalStatus
  reasons: Reason[]
  decided_by: Requester | null
  decided_at: Date | null
  created_at: Date
  from_text: string
  to_list: string[]
  cc_list: string[]
  bcc_list: string[]
  subject: string
  snippet: string
  text: string | null
  has_attachments: boolean
  thread_id: string
  message_id: string | null
}

/** Of the text; the message itself has the rest. */
const PREVIEW_CHARS_MAX = 20_000

const columns = (textChars: number) => sql`a.id, a.account_id, a.tenant_id, a.inbox_id, a.inbox_message_id, a.status,
  a.reasons, a.requested_by, a.requested_key_id, a.decided_by, a.decided_at, a.created_at, a.expires_at, m.from_text,
  m.to_list, m.cc_list, m.bcc_list, m.subject, m.snippet, left(t.text, ${textChars}::int) as text, m.has_attachments,
  m.thread_id, m.message_id`

const joined = sql`approvals a join inbox_messages m on m.id = a.inbox_message_id join folders f on f.id = m.folder_id
  join inboxes i on i.id = a.inbox_id left join source_texts t on t.source_id = m.source_id`

/** With its mail: what is in an emptied folder or a deleted inbox is gone. */
const reachable = (reach: Reach) =>
  sql`f.discarded_at is null and i.deleted_at is null and ${withinInbox(reach, sql`a`)}`

export const requireApproval = async (db: Db, reach: Reach, id: string): Promise<StoredApproval> =>
  (await db.maybe<StoredApproval>(prepared`
    select ${columns(PREVIEW_CHARS_MAX)} from ${joined} where a.id = ${id} and ${reachable(reach)}`)) ??
  missing('approval')

export interface LinkedApproval extends StoredApproval {
  content_hash: Buffer
  inbox_address: string
  /** The account wants approvals decided by links. */
  has_links: boolean
  /** Sanitised. Null: there is none, or it is longer than a page shows. */
  html: string | null
  /** The text or the HTML is longer than a page shows. */
  is_cut: boolean
  /** What could not be read of it. */
  notes: string[]
  /** The first of them, and how many there are. */
  attachments: { filename: string | null; content_type: string; size: number }[]
  attachment_count: number
  /** To, cc and bcc, as many as it leaves to. */
  recipient_count: number
}

/** What the page behind a link shows: a text of a long evening, and the HTML of a newsletter. */
const LINKED_TEXT_CHARS_MAX = 100_000
const LINKED_HTML_CHARS_MAX = 500_000
const LINKED_FILES_MAX = 100

/** The signature of the link is the proof; nobody is logged in. */
export const findLinkedApprovalAnywhere = (db: Db, id: string): Promise<LinkedApproval | null> =>
  db.maybe<LinkedApproval>(prepared`
    select ${columns(LINKED_TEXT_CHARS_MAX)}, a.content_hash, i.address as inbox_address, o.approval_links as has_links,
      case when length(t.html) <= ${LINKED_HTML_CHARS_MAX} then t.html end as html, coalesce(t.notes, '{}') as notes,
      coalesce(length(t.text), 0) > ${LINKED_TEXT_CHARS_MAX}
        or coalesce(length(t.html), 0) > ${LINKED_HTML_CHARS_MAX} as is_cut,
      jsonb_array_length(a.envelope -> 'recipients') as recipient_count,
      (select count(*)::int from source_attachments where source_id = m.source_id) as attachment_count,
      (select coalesce(json_agg(json_build_object('filename', filename, 'content_type', content_type, 'size', size)
          order by n), '[]')
        from (select filename, content_type, size, n from source_attachments where source_id = m.source_id
          order by n limit ${LINKED_FILES_MAX}) as file) as attachments
    from ${joined} join accounts o on o.id = a.account_id
    where a.id = ${id} and f.discarded_at is null and i.deleted_at is null`)

interface Page {
  inboxId: string
  status: ApprovalStatus | null
  after: string | null
  limit: number
}

/** In lists the preview is short. */
const LISTED_CHARS_MAX = 500

/** Of addresses and findings on a page: a mail to a thousand people with long names has a megabyte of them. */
const PAGE_BYTES_MAX = 1024 * 1024

/** A page ends early when its mails are large. */
export async function listApprovals(
  db: Reads,
  reach: Reach,
  { inboxId, status, after, limit }: Page,
): Promise<Found<StoredApproval>> {
  const rows = await db.many<StoredApproval & { found: number }>(prepared`
    with found as materialized (
        select a.id from ${joined}
        where ${all([
          sql`a.inbox_id = ${inboxId}`,
          reachable(reach),
          status !== null && sql`a.status = ${status}`,
          after !== null && sql`a.id < ${after}`,
        ])}
        order by a.id desc limit ${limit}
      ),
      sized as materialized (
        select a.id, row_number() over in_order as ordinal, sum(
          octet_length(m.to_list::text) + octet_length(m.cc_list::text) + octet_length(m.bcc_list::text)
          + octet_length(m.from_text) + octet_length(m.subject) + octet_length(m.snippet) + octet_length(a.reasons::text)
          + octet_length(a.requested_by::text)) over in_order as bytes
        from found join approvals a on a.id = found.id join inbox_messages m on m.id = a.inbox_message_id
        window in_order as (order by a.id desc rows unbounded preceding)
      )
    select ${columns(LISTED_CHARS_MAX)}, (select count(*)::int from found) as found
    from ${joined} join sized on sized.id = a.id
    where sized.bytes <= ${PAGE_BYTES_MAX} or sized.ordinal = 1
    order by a.id desc`)
  const isCut = (rows[0]?.found ?? 0) > rows.length
  return { rows: rows.map(({ found: _, ...row }) => row), isCut }
}

/** What an approved mail consists of. */
export const findHeldContent = (db: Db, id: string) =>
  db.maybe<{ envelope: Envelope; content_hash: Buffer; source: Buffer }>(prepared`
    select a.envelope, a.content_hash, s.content as source
    from approvals a join inbox_messages m on m.id = a.inbox_message_id join mail_sources s on s.id = m.source_id
    where a.id = ${id}`)

export const findHeldBytes = (db: Db, id: string): Promise<number | null> =>
  db.maybeValue<number>(prepared`
    select s.size from approvals a join inbox_messages m on m.id = a.inbox_message_id
      join mail_sources s on s.id = m.source_id
    where a.id = ${id}`)

/** As they are under the lock of their inboxes. */
export const listApprovalStates = (tx: Tx, ids: readonly string[]) =>
  tx.many<{ id: string; status: ApprovalStatus; inbox_message_id: string; expires_at: Date }>(prepared`
    select a.id, a.status, a.inbox_message_id, a.expires_at
    from approvals a join inbox_messages m on m.id = a.inbox_message_id join folders f on f.id = m.folder_id
    where a.id = any(${bareArray(ids)}::uuid[]) and f.discarded_at is null`)

export const listPendingCounts = (db: Db, inboxIds: readonly string[]) =>
  db.many<{ inbox_id: string; count: number }>(prepared`
    select inbox_id, count(*)::int as count from approvals
    where inbox_id = any(${bareArray(inboxIds)}::uuid[]) and status = 'pending' group by inbox_id`)

export async function updateApproved(tx: Tx, id: string, by: Requester): Promise<void> {
  await tx.run(prepared`
    update approvals set status = 'approved', decided_by = ${by}, decided_at = ${tx.now}
    where id = ${id} and status = 'pending'`)
}

/** Those that were pending. `reason` is added to why they waited. */
export const updateRejected = (
  tx: Tx,
  ids: readonly string[],
  { by, reason }: { by: Requester; reason: Reason | null },
): Promise<{ id: string; inbox_message_id: string }[]> =>
  tx.many(prepared`
    update approvals set status = 'rejected', decided_by = ${by}, decided_at = ${tx.now},
      reasons = reasons || ${JSON.stringify(reason === null ? [] : [reason])}::jsonb
    where id = any(${bareArray(ids)}::uuid[]) and status = 'pending'
    returning id, inbox_message_id`)

export const updateSent = (tx: Tx, ids: readonly string[]): Promise<number> =>
  tx.run(prepared`
    update approvals set status = 'sent' where id = any(${bareArray(ids)}::uuid[]) and status = 'approved'`)

export type Pending = Pick<StoredApproval, 'id' | 'inbox_id' | 'account_id' | 'tenant_id'>

export const listExpiredAnywhere = (
  db: Db,
  { now, exceptInboxes, limit }: { now: Date; exceptInboxes: readonly string[]; limit: number },
): Promise<Pending[]> =>
  db.many<Pending>(prepared`
    select id, inbox_id, account_id, tenant_id from approvals
    where status = 'pending' and expires_at <= ${now} and not (inbox_id = any(${bareArray(exceptInboxes)}::uuid[]))
    order by expires_at limit ${limit}`)

/** Whether mail to this address reaches a mailbox that an inbox of the account mirrors, its grant ended or not. */
export const isConnectedMailbox = async (db: Db, accountId: string, address: string): Promise<boolean> =>
  (await db.maybe(prepared`
    select 1 from connections
    where account_id = ${accountId} and ${mailboxOf(sql`address`)} = ${mailboxOf(sql`${address}::text`)} limit 1`)) !==
  null

/** Spellings of one mailbox: both providers leave out the case and what stands behind a plus, Gmail dots and its other name. */
const mailboxOf = (address: Sql): Sql => sql`(
  select case when domain in ('gmail.com', 'googlemail.com') then replace(local, '.', '') || '@gmail.com'
    else local || '@' || domain end
  from (select split_part(split_part(lower(${address}), '@', 1), '+', 1) as local,
    split_part(lower(${address}), '@', 2) as domain) parts)`
