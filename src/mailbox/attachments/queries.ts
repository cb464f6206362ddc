// All SQL over attachments whose text is read, fenced by the lease.
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import { DueAccounts } from '../../platform/work/due-accounts.ts'
import type { Claim, Leased } from '../../platform/work/leased-work.ts'
import { LeasedTable, leasing } from '../../platform/work/leased-table.ts'

export interface ClaimedAttachment {
  id: string
  n: number
  filename: string | null
  content_type: string
  size: number
  /** Its text is known, and the words of a message that was filed later lack it. */
  has_text: boolean
  /** When it was due before it was leased. */
  was_due_at: Date
}

/** The attachments of one mail, which are read one after the other so that its words are written once. */
export interface ClaimedSource {
  source_id: string
  account_id: string
  /** With this one. */
  attempts: number
  attachments: ClaimedAttachment[]
}

/** Of one mail at a time: results are kept in memory until they are recorded. */
const ATTACHMENTS_MAX = 10

export const dueAccounts = (): DueAccounts => new DueAccounts(sql`source_attachments`, sql`text_state = 'pending'`)

/**
 * The oldest due mails of each account whose turn it is. A mail of which somebody reads other attachments is left alone: two
 * workers would write the words of one message over each other.
 */
export async function claimSources(tx: Tx, claim: Claim<ClaimedSource>, due: DueAccounts): Promise<ClaimedSource[]> {
  const accounts = await due.next(tx, claim)
  if (accounts.length === 0) return []
  const limits = claim.limitsFor(accounts.map(accountId => ({ key: accountId, accountId })))
  const sourceIds = await lockDueSources(tx, { accounts, limits })
  if (sourceIds.length === 0) return []
  const rows = await leaseAttachments(tx, sourceIds, claim)
  return [...Map.groupBy(rows, row => row.source_id).values()].map(own => ({
    source_id: own[0]!.source_id,
    account_id: own[0]!.account_id,
    attempts: own[0]!.attempts,
    attachments: own
      .map(row => ({ ...row.attachment, was_due_at: row.was_due_at }))
      .toSorted((one, other) => one.n - other.n),
  }))
}

/** Of an account, looked at for a claim: as many as a mail may have, so that there is a mail among them. */
const LOOKED_AT_MAX = 1_000

/** Of those that are filed: the others have nothing to write words for yet. */
async function lockDueSources(
  tx: Tx,
  { accounts, limits }: { accounts: readonly string[]; limits: readonly number[] },
): Promise<string[]> {
  const rows = await tx.alongIndexes.many<{ id: string }>(prepared`
    with account as (
      select * from unnest(${bareArray(accounts)}::uuid[], ${bareArray(limits)}::int[]) as a (id, mails_max) where mails_max > 0
    ), due as (
      select oldest.source_id from account cross join lateral (
        select first.source_id from (
          select a.source_id, a.due_at from source_attachments a
          where a.account_id = account.id and a.text_state = 'pending' and a.due_at <= ${tx.now}
            and exists (select 1 from inbox_messages m where m.source_id = a.source_id)
            and not exists (${leasedElsewhere(tx)})
          order by a.due_at limit ${LOOKED_AT_MAX}
        ) first
        group by first.source_id order by min(first.due_at) limit account.mails_max
      ) oldest
    )
    select id from mail_sources where id in (select source_id from due) for no key update skip locked`)
  return rows.map(row => row.id)
}

const leasedElsewhere = (tx: Tx): Sql => sql`
  select 1 from source_attachments b
  where b.source_id = a.source_id and b.text_state = 'pending' and b.lease_token is not null and b.due_at > ${tx.now}`

/**
 * A statement of its own: behind the locks it sees what another worker has leased meanwhile. What failed before is taken
 * alone, so that it takes nothing else with it.
 */
const leaseAttachments = (tx: Tx, sourceIds: readonly string[], claim: Claim<ClaimedSource>) =>
  tx.alongIndexes.many<
    Omit<ClaimedSource, 'attachments'> & { was_due_at: Date; attachment: Omit<ClaimedAttachment, 'was_due_at'> }
  >(prepared`
    with ordered as (
      select a.id, a.due_at as was_due_at,
        row_number() over (partition by a.source_id order by a.attempts desc, a.n) as ordinal,
        max(a.attempts) over (partition by a.source_id) as attempts_max
      from source_attachments a
      where a.source_id = any(${bareArray(sourceIds)}::uuid[]) and a.text_state = 'pending' and a.due_at <= ${tx.now}
        and not exists (${leasedElsewhere(tx)})
    )
    update source_attachments a set ${leasing(claim)} from ordered
    where a.id = ordered.id and ordinal <= case when attempts_max > 0 then 1 else ${ATTACHMENTS_MAX} end
    returning a.source_id, a.account_id, a.attempts, was_due_at, json_build_object('id', a.id, 'n', a.n, 'filename', a.filename,
      'content_type', concat(a.content_type, a.type_params), 'size', a.size, 'has_text', a.text is not null) as attachment`)

export interface AttachmentResult {
  id: string
  state: 'done' | 'none' | 'failed'
  text: string | null
  reason: string | null
}

/** Keeps messages from being filed from this source until the transaction ends, and other workers from its attachments. */
export const lockSource = async (tx: Tx, sourceId: string): Promise<void> => {
  await tx.many(prepared`select 1 from mail_sources where id = ${sourceId} for no key update`)
}

/** False: the lease was lost. One by one: a million characters in an array would be looked at one by one by the driver. */
export const updateText = async (
  tx: Tx,
  leaseToken: string,
  { id, state, text, reason }: AttachmentResult,
): Promise<boolean> => {
  const updated = await tx.run(prepared`
    update source_attachments
    set text_state = ${state}, text = coalesce(${text}, text), text_reason = ${reason}, lease_token = null, due_at = null
    where id = ${id} and lease_token = ${leaseToken}`)
  return updated === 1
}

const table = new LeasedTable(sql`source_attachments`, 'id')

const rowsOf = (source: Leased<ClaimedSource>): Leased<ClaimedAttachment>[] =>
  source.attachments.map(attachment => ({ ...attachment, leaseToken: source.leaseToken }))

export const textLeases = {
  extend: (tx: Tx, sources: readonly Leased<ClaimedSource>[], until: Date): Promise<number> =>
    table.extend(tx, sources.flatMap(rowsOf), until),
  release: (tx: Tx, sources: readonly Leased<ClaimedSource>[]): Promise<number> =>
    table.release(tx, sources.flatMap(rowsOf)),
}

/** Until the transaction ends, nobody takes it over. Locked in the order of their ids. */
export const lockLease = async (tx: Tx, source: Leased<ClaimedSource>): Promise<boolean> => {
  const rows = rowsOf(source).toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const ours = await tx.alongIndexes.many(prepared`
    select 1 from source_attachments t, ${table.ours(rows)} for share of t`)
  return ours.length === source.attachments.length
}

/** Tried in vain; due again then. */
export const postpone = (tx: Tx, source: Leased<ClaimedSource>, dueAt: Date): Promise<unknown> =>
  table.defer(
    tx,
    rowsOf(source).map(row => ({ ...row, dueAt })),
  )

/** What the words of a message are made of. Null: nothing was filed from this source. */
interface SourceDocument {
  subject: string
  from_text: string
  to: string[]
  text: string
  html: string | null
}

export const findDocument = (db: Db, sourceId: string): Promise<SourceDocument | null> =>
  db.maybe<SourceDocument>(prepared`
    select m.subject, m.from_text, m.to_list || m.cc_list || m.bcc_list as to, coalesce(t.text, '') as text, t.html
    from inbox_messages m left join source_texts t on t.source_id = m.source_id
    where m.source_id = ${sourceId} order by m.id limit 1`)

/** Names of all attachments, and the texts of those that have one; in their order. */
export const listTextsOfSource = (db: Db, sourceId: string, { charsMax }: { charsMax: number }) =>
  db.many<{ id: string; filename: string | null; text: string | null }>(prepared`
    select id, filename, case when sum(length(text)) over (order by n) <= ${charsMax} then text end as text
    from source_attachments where source_id = ${sourceId} order by n`)

/** Of those that have one. */
export const listTextsOf = (db: Db, ids: readonly string[]): Promise<{ id: string; text: string }[]> =>
  db.many(prepared`
    select id, text from source_attachments where id = any(${bareArray(ids)}::uuid[]) and text is not null`)

/**
 * Once a mail that was filed before is filed again, for somebody else: its attachments are looked at again, for the
 * words of the new messages, which lack the text of those that were read before. What was read is not read again. The
 * lock is shared with others that file it, and not with the worker that records their text.
 */
export async function updateToPending(tx: Tx, sourceIds: readonly string[]): Promise<void> {
  if (sourceIds.length === 0) return
  await tx.many(prepared`
    select 1 from mail_sources where id = any(${bareArray(sourceIds)}::uuid[]) order by id for share`)
  await tx.run(prepared`
    update source_attachments set text_state = 'pending', due_at = ${tx.now}, attempts = 0
    where source_id = any(${bareArray(sourceIds)}::uuid[]) and text_state = 'done'`)
}

/** Queues are compared as far as this. */
const QUEUE_COUNTED_MAX = 100

/**
 * A mail waits in the queue of the account that filed it first. Where another account that got it has fewer that wait, it waits
 * there from now on: nobody keeps a mail from being looked at by sending it to himself as well.
 */
export async function updateToShorterQueue(tx: Tx, filed: readonly { sourceId: string; accountId: string }[]) {
  if (filed.length === 0) return
  await tx.run(prepared`
    update source_attachments a set account_id = f.account_id
    from unnest(${bareArray(filed.map(({ sourceId }) => sourceId))}::uuid[],
      ${bareArray(filed.map(({ accountId }) => accountId))}::uuid[]) as f (source_id, account_id)
    where a.source_id = f.source_id and a.account_id <> f.account_id and a.text_state = 'pending' and a.lease_token is null
      and (${waiting(sql`a.account_id`)}) > (${waiting(sql`f.account_id`)})`)
}

const waiting = (accountId: Sql): Sql => sql`
  select count(*) from (
    select 1 from source_attachments w where w.account_id = ${accountId} and w.text_state = 'pending'
    limit ${QUEUE_COUNTED_MAX}) counted`
