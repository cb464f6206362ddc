// What tainted mail says, the newest first, as far as a new mail is compared with it.
import type { Db } from '../../platform/db/database.ts'
import { prepared, sql, type Sql } from '../../platform/db/sql.ts'

export interface TaintedTexts {
  id: string
  received_at: Date
  subject: string
  from_text: string
  text: string
  /** What the HTML shows and hides besides. */
  html_text: string
  files: string[]
  /** It has more files than these, or some that are not read yet. */
  has_more: boolean
}

/** Of one mail; each of its texts has two million characters at the most. */
const FILES = { count: 100, bytes: 2_000_000 }
/** More would take a thread too long: it compares some 20 MB in a second. The last one may go beyond it. */
const OWN = { mails: 2_000, bytes: 4_000_000 }
const OTHERS = { mails: 1_000, bytes: 2_000_000 }

const columns = sql`id, inbox_id, source_id, subject, from_text, received_at`
const isTainted = sql`is_tainted and direction = 'in' and source_id is not null`

/** Of the inbox that a mail is sent from. */
export const listTaintedTexts = (db: Db, inboxId: string): Promise<TaintedTexts[]> =>
  listTexts(db, {
    mails: sql`select ${columns} from inbox_messages
      where inbox_id = ${inboxId} and ${isTainted} order by id desc limit ${OWN.mails}`,
    bytesMax: OWN.bytes,
  })

/** Whether such mail is behind the last one that was listed. */
export const hasTaintedBefore = async (
  db: Db,
  { inboxId, id, since }: { inboxId: string; id: string; since: Date },
): Promise<boolean> => {
  const next = await db.maybeValue<Date>(prepared`
    select received_at from inbox_messages
    where inbox_id = ${inboxId} and ${isTainted} and id < ${id} order by id desc limit 1`)
  return next !== null && next >= since
}

/** Of the other inboxes of its tenant: the newest of all together, so that their number costs nothing. */
export const listTaintedTextsBeside = (db: Db, { tenantId, inboxId }: { tenantId: string; inboxId: string }) =>
  listTexts(db, {
    // Where the sending inbox has more than it is compared with, its mail waits anyway: behind as many, the others begin.
    mails: sql`select ${columns} from (
        select ${columns} from inbox_messages
        where tenant_id = ${tenantId} and ${isTainted} order by id desc limit ${OWN.mails + OTHERS.mails}
      ) newest where inbox_id <> ${inboxId} order by id desc limit ${OTHERS.mails}`,
    bytesMax: OTHERS.bytes,
  })

/** Of mail that was filed before the text of its HTML was kept, the HTML as it stands: its words are between the tags. */
const htmlText = sql`coalesce(t.html_text, t.html, '')`

/** With how many bytes stand before each of them. */
const filesOf = (sourceId: Sql): Sql => sql`
  select a.text, a.n, coalesce(sum(octet_length(a.text)) over earlier, 0) as earlier_bytes,
    row_number() over (order by a.n) as ordinal
  from source_attachments a where a.source_id = ${sourceId} and a.text is not null
  window earlier as (order by a.n rows between unbounded preceding and 1 preceding)`

const isRead = sql`file.earlier_bytes < ${FILES.bytes} and file.ordinal <= ${FILES.count}`

/**
 * What is too much is told by the bytes that a row says its text has, because counting characters reads all of it: two
 * megabytes for each mail of a flood.
 */
export const listTexts = (db: Db, { mails, bytesMax }: { mails: Sql; bytesMax: number }): Promise<TaintedTexts[]> =>
  db.many<TaintedTexts>(prepared`
    select quotable.id, quotable.received_at, quotable.subject, quotable.from_text, coalesce(t.text, '') as text,
      ${htmlText} as html_text, quotable.has_more, array(
        select file.text from (${filesOf(sql`quotable.source_id`)}) file where ${isRead} order by file.n
      ) as files
    from (
      select m.id, m.received_at, m.source_id, m.subject, m.from_text, f.has_more,
        coalesce(sum(coalesce(octet_length(t.text), 0) + octet_length(${htmlText}) + f.bytes) over newer, 0) as newer_bytes
      from (${mails}) m
      left join source_texts t on t.source_id = m.source_id
      cross join lateral (
        select coalesce(sum(octet_length(file.text)) filter (where ${isRead}), 0) as bytes,
          coalesce(bool_or(not (${isRead})), false) or exists (
            select from source_attachments unread
            where unread.source_id = m.source_id and unread.text_state = 'pending') as has_more
        from (${filesOf(sql`m.source_id`)}) file
      ) f
      window newer as (order by m.id desc rows between unbounded preceding and 1 preceding)
    ) quotable
    left join source_texts t on t.source_id = quotable.source_id
    where quotable.newer_bytes < ${bytesMax} order by quotable.id desc`)
