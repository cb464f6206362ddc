// What tainted mail says, the newest first, as far as a new mail is compared with it.
import type { Db } from '../../platform/db/database.ts'
import { prepared, sql, type Sql } from '../../platform/db/sql.ts'

export interface TaintedTexts {
  subject: string
  from_text: string
  text: string
  /** What the HTML shows and hides besides. */
  html_text: string
  files: string[]
}

/** Characters of one text, and files of one mail. */
const QUOTABLE = { textChars: 200_000, files: 20 }
/** More would take a thread too long: it compares some 20 MB in a second. */
const OWN = { mails: 1_000, bytes: 4_000_000 }
const OTHERS = { mails: 1_000, bytes: 2_000_000 }

const columns = sql`id, inbox_id, source_id, subject, from_text`
const isTainted = sql`is_tainted and direction = 'in' and source_id is not null`

/** Of the inbox that a mail is sent from. */
export const listTaintedTexts = (db: Db, inboxId: string): Promise<TaintedTexts[]> =>
  listTexts(db, {
    mails: sql`select ${columns} from inbox_messages
      where inbox_id = ${inboxId} and ${isTainted} order by id desc limit ${OWN.mails}`,
    bytesMax: OWN.bytes,
  })

/** Of the other inboxes of its tenant: the newest of all together, so that their number costs nothing. */
export const listTaintedTextsBeside = (
  db: Db,
  { tenantId, inboxId }: { tenantId: string; inboxId: string },
): Promise<TaintedTexts[]> =>
  listTexts(db, {
    mails: sql`select ${columns} from (
        select ${columns} from inbox_messages
        where tenant_id = ${tenantId} and ${isTainted} order by id desc limit ${OTHERS.mails}
      ) newest where inbox_id <> ${inboxId}`,
    bytesMax: OTHERS.bytes,
  })

/** Of mail that was filed before the text of its HTML was kept, the HTML as it stands: its words are between the tags. */
const htmlText = sql`coalesce(t.html_text, t.html, '')`

/**
 * What is too much is told by the bytes that a row says its text has, because counting characters reads all of it: two
 * megabytes for each mail of a flood.
 */
export const listTexts = (db: Db, { mails, bytesMax }: { mails: Sql; bytesMax: number }): Promise<TaintedTexts[]> =>
  db.many<TaintedTexts>(prepared`
    select quotable.subject, quotable.from_text, left(t.text, ${QUOTABLE.textChars}) as text,
      left(${htmlText}, ${QUOTABLE.textChars}) as html_text, array(
        select left(a.text, ${QUOTABLE.textChars}) from source_attachments a
        where a.source_id = quotable.source_id and a.text is not null order by a.n limit ${QUOTABLE.files}
      ) as files
    from (
      select m.id, m.source_id, m.subject, m.from_text,
        coalesce(sum(least(octet_length(t.text), ${QUOTABLE.textChars})
          + least(octet_length(${htmlText}), ${QUOTABLE.textChars}) + f.bytes) over newer, 0) as newer_bytes
      from (${mails}) m
      join source_texts t on t.source_id = m.source_id
      cross join lateral (
        select coalesce(sum(least(octet_length(file.text), ${QUOTABLE.textChars})), 0) as bytes
        from (select a.text from source_attachments a
          where a.source_id = m.source_id and a.text is not null order by a.n limit ${QUOTABLE.files}) file
      ) f
      window newer as (order by m.id desc rows between unbounded preceding and 1 preceding)
    ) quotable
    join source_texts t on t.source_id = quotable.source_id
    where quotable.newer_bytes < ${bytesMax} order by quotable.id desc`)
