// SQL over removed_taints: what is left of tainted mail that was deleted. Nothing else writes that table.
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'
import { listTexts, type TaintedTexts } from './queries.ts'

/** Of an inbox: mails, and bytes of their passages, four for each. The last one may go beyond it. */
const KEPT = { mails: 1_000, bytes: 4_000_000 }
/** Of mail whose passages are not hashed yet, which takes moments. */
const UNHASHED = { mails: 200, bytes: 2_000_000 }

/** Before these messages are deleted. */
export async function insertRemovedTaints(tx: Tx, messageIds: readonly string[]): Promise<void> {
  await tx.run(prepared`
    insert into removed_taints (message_id, account_id, tenant_id, inbox_id, thread_id, removed_at, source_id, subject,
      from_text)
    select id, account_id, tenant_id, inbox_id, thread_id, ${tx.now}, source_id, subject, from_text from inbox_messages
    where id = any(${bareArray(messageIds)}::uuid[]) and is_tainted and direction = 'in' and source_id is not null
    on conflict do nothing`)
}

export interface UnhashedMail {
  message_id: string
  account_id: string
  inbox_id: string
}

export const listUnhashedAnywhere = (db: Db, limit: number): Promise<UnhashedMail[]> =>
  db.many<UnhashedMail>(prepared`
    select message_id, account_id, inbox_id from removed_taints where source_id is not null
    order by source_id limit ${limit}`)

const asMail = sql`message_id as id, inbox_id, source_id, subject, from_text, removed_at as received_at`

/** Of one mail all that a new one is compared with. */
export const listTextsOfRemoved = (db: Db, messageId: string): Promise<TaintedTexts[]> =>
  listTexts(db, {
    mails: sql`select ${asMail} from removed_taints where message_id = ${messageId} and source_id is not null`,
    bytesMax: UNHASHED.bytes,
  })

/** What its sender wrote is gone from here with it. */
export async function updateRemovedPassages(tx: Tx, messageId: string, passages: Buffer): Promise<void> {
  await tx.run(prepared`
    update removed_taints set passages = ${passages}, source_id = null, subject = null, from_text = null
    where message_id = ${messageId}`)
}

/**
 * The newest stay, hashed or not. Rows that another transaction holds are left to the next call: this one may run beside a
 * deletion in the same inbox.
 */
export async function deleteSurplusRemoved(tx: Tx, inboxId: string): Promise<void> {
  await tx.run(prepared`
    delete from removed_taints where message_id in (
      select message_id from removed_taints where message_id in (
        select message_id from (
          select message_id, row_number() over (order by removed_at desc, message_id desc) as ordinal,
            sum(octet_length(passages)) over newer as newer_bytes
          from removed_taints where inbox_id = ${inboxId}
          window newer as (order by removed_at desc, message_id desc rows between unbounded preceding and 1 preceding)
        ) kept
        where ordinal > ${KEPT.mails} or newer_bytes > ${KEPT.bytes}
      ) for update skip locked)`)
}

export const deleteRemovedBefore = (tx: Tx, before: Date, limit: number): Promise<number> =>
  tx.run(prepared`
    delete from removed_taints where message_id in (
      select message_id from removed_taints where removed_at < ${before}
      order by removed_at limit ${limit} for update skip locked)`)

/** Of a thread, and of those that became part of it. */
export async function deleteRemovedOfThread(tx: Tx, { threadId, inboxId }: { threadId: string; inboxId: string }) {
  await tx.run(prepared`
    delete from removed_taints
    where inbox_id = ${inboxId}
      and (thread_id = ${threadId} or thread_id in (select id from threads where merged_into = ${threadId}))`)
}

/** Of an inbox, or of a whole tenant. */
interface Searched {
  inboxId: string
  tenantId: string
  isWhole: boolean
}

export const listRemovedTexts = (db: Db, { inboxId, tenantId, isWhole }: Searched): Promise<TaintedTexts[]> =>
  listTexts(db, {
    mails: sql`select ${asMail} from (
        select message_id, inbox_id, source_id, subject, from_text, removed_at from removed_taints
        where tenant_id = ${tenantId} and source_id is not null order by message_id desc limit ${UNHASHED.mails}
      ) newest where inbox_id = ${inboxId} or ${isWhole}`,
    bytesMax: UNHASHED.bytes,
  })

/** Those of the inbox before those of others. */
export const listRemovedPassages = (db: Db, { inboxId, tenantId, isWhole }: Searched) =>
  db.many<{ passages: Buffer }>(prepared`
    select passages from (
      select passages, coalesce(sum(octet_length(passages)) over newer, 0) as newer_bytes from (
        (select message_id, removed_at, passages, false as is_other from removed_taints
          where inbox_id = ${inboxId} and source_id is null order by removed_at desc limit ${KEPT.mails})
        union all
        (select message_id, removed_at, passages, true from removed_taints
          where ${isWhole} and tenant_id = ${tenantId} and inbox_id <> ${inboxId} and source_id is null
          order by removed_at desc limit ${KEPT.mails})
      ) kept
      window newer as (order by is_other, removed_at desc, message_id rows between unbounded preceding and 1 preceding)
    ) counted
    where newer_bytes <= ${KEPT.bytes}`)
