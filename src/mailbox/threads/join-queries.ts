// The SQL of joining threads.
import type { Db, Tx } from '../../platform/db/database.ts'
import { isLookedUpBy } from '../../platform/db/planner.ts'
import { bareArray, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import { storableJson } from '../storable.ts'
import { updateThreadOfMessages } from '../messages/insert.ts'
import { LABELS_MAX } from '../messages/labels.ts'
import type { Reference, Referenced } from './join.ts'
import { PARTICIPANTS_MAX } from './subject-key.ts'

export const listReferenced = async (
  db: Db,
  asked: readonly (readonly [inboxId: string, rfcIds: readonly string[]])[],
): Promise<Referenced[]> => {
  const pairs = asked.flatMap(([inboxId, rfcIds]) => rfcIds.map(rfcId => ({ inboxId, rfcId })))
  if (pairs.length === 0) return []
  // One look into the index for each: with statistics of an hour ago a join might read both tables whole.
  return db.many<Referenced>(prepared`
    select asked.inbox_id, asked.rfc_id, r.thread_id
    from (select distinct inbox_id, rfc_id from unnest(${bareArray(pairs.map(pair => pair.inboxId))}::uuid[],
      ${bareArray(pairs.map(pair => pair.rfcId))}::text[]) as pair (inbox_id, rfc_id)) asked
    cross join lateral (
      select r.thread_id from thread_references r where r.inbox_id = asked.inbox_id and r.rfc_id = decode(asked.rfc_id, 'hex')
      limit 1
    ) r`)
}

/** What moves with a thread: its messages, trashed ones too, the ids that lead to it, and threads that were merged into it. */
export interface ThreadRows {
  id: string
  messages: number
  others: number
}

/** Of each kind no more are counted than that. A thread that is not stored yet has none. */
export const countThreadRows = (db: Db, threadIds: readonly string[], countMax: number): Promise<ThreadRows[]> =>
  db.many<ThreadRows>(prepared`
    select asked.id,
      (select count(*) from (select from inbox_messages where thread_id = asked.id limit ${countMax}) m) as messages,
      (select count(*) from (select from thread_references where thread_id = asked.id limit ${countMax}) r)
      + (select count(*) from (select from threads where merged_into = asked.id limit ${countMax}) t) as others
    from unnest(${threadIds}::uuid[]) as asked (id)`)

export interface AlikeThread {
  id: string
  inbox_id: string
  subject_key: string
  participants: string[]
  last_message_at: Date
}

/** Of a subject that is used all the time the latest threads are looked at, not all of them. */
const ALIKE_MAX = 20

export const listAlike = (db: Db, pairs: readonly { inboxId: string; subjectKey: string }[], since: Date) =>
  db.many<AlikeThread>(prepared`
    select t.id, t.inbox_id, t.subject_key, t.participants, t.last_message_at
    from (select distinct inbox_id, subject_key from unnest(${pairs.map(pair => pair.inboxId)}::uuid[],
      ${pairs.map(pair => pair.subjectKey)}::text[]) as pair (inbox_id, subject_key)) asked
    cross join lateral (
      select id, inbox_id, subject_key, participants, last_message_at from threads
      where inbox_id = asked.inbox_id and subject_key = asked.subject_key and merged_into is null
        and last_message_at >= ${since}
      order by last_message_at desc limit ${ALIKE_MAX}
    ) t
    order by t.last_message_at desc`)

export const insertReferences = (tx: Tx, added: readonly Reference[]): void => {
  if (added.length === 0) return
  tx.send(prepared`
    insert into thread_references (inbox_id, rfc_id, thread_id)
    select inbox_id, decode(rfc_id, 'hex'), thread_id from unnest(${bareArray(added.map(each => each.inboxId))}::uuid[],
      ${bareArray(added.map(each => each.rfcId))}::text[], ${bareArray(added.map(each => each.threadId))}::uuid[])
      as added (inbox_id, rfc_id, thread_id)
    on conflict do nothing`)
}

const REASONS_MAX = 20

const firstReasons = (reasons: Sql): Sql =>
  sql`jsonb_path_query_array(${reasons}, ${`$[0 to ${REASONS_MAX - 1}]`}::jsonpath)`

/**
 * What was in one thread is in the other from now on; the id of the first still leads there. The statements are issued at once,
 * and run in this order.
 */
export async function mergeThreads(tx: Tx, merges: readonly { from: string; into: string }[]): Promise<void> {
  const moves = merges.flatMap(({ from, into }) => [
    updateThreadOfMessages(tx, { from, into }),
    tx.run(sql`update thread_references set thread_id = ${into} where thread_id = ${from}`),
    tx.run(sql`update threads set merged_into = ${into} where merged_into = ${from}`),
    tx.run(sql`
      update threads t set message_count = t.message_count + f.message_count, unread_count = t.unread_count + f.unread_count,
        visible_count = t.visible_count + f.visible_count, is_tainted = t.is_tainted or f.is_tainted,
        taint_reasons = ${firstReasons(sql`t.taint_reasons || f.taint_reasons`)},
        last_message_at = greatest(t.last_message_at, f.last_message_at), created_at = least(t.created_at, f.created_at),
        participants = (select array(select distinct unnest(t.participants || f.participants) limit ${PARTICIPANTS_MAX})),
        labels = (select array(select label from unnest(t.labels || f.labels) with ordinality as l (label, ordinal)
          group by label order by min(ordinal) limit ${LABELS_MAX}))
      from threads f where f.id = ${from} and t.id = ${into}`),
    tx.run(sql`
      update threads set merged_into = ${into}, message_count = 0, unread_count = 0, visible_count = 0, is_tainted = false,
        taint_reasons = '[]'
      where id = ${from}`),
  ])
  await Promise.all(moves)
}

/** A thread that begins, and what filing adds to one, begun or not. */
export interface FiledThread {
  id: string
  isNew: boolean
  accountId: string
  tenantId: string
  inboxId: string
  subject: string
  subjectKey: string
  participants: readonly string[]
  messages: number
  unread: number
  visible: number
  lastMessageAt: Date
  taintReasons: readonly object[]
}

/** The writes travel with the commit. */
export function sendThreads(tx: Tx, threads: readonly FiledThread[]): void {
  const begun = threads.filter(thread => thread.isNew)
  const others = threads.filter(thread => !thread.isNew)
  if (begun.length > 0) tx.send(insertBegun(tx, begun))
  if (others.length > 0) tx.alongIndexes.send(updateContinued(others))
}

const filedRow = (thread: FiledThread) => ({
  id: thread.id,
  account_id: thread.accountId,
  tenant_id: thread.tenantId,
  inbox_id: thread.inboxId,
  subject: thread.subject,
  subject_key: thread.subjectKey,
  participants: thread.participants.slice(0, PARTICIPANTS_MAX),
  messages: thread.messages,
  unread: thread.unread,
  visible: thread.visible,
  last_message_at: thread.lastMessageAt,
  taint_reasons: thread.taintReasons.slice(0, REASONS_MAX),
})

const updateContinued = (threads: readonly FiledThread[]) => prepared`
  update threads t set message_count = t.message_count + o.messages, unread_count = t.unread_count + o.unread,
    visible_count = t.visible_count + o.visible, last_message_at = greatest(t.last_message_at, o.last_message_at),
    participants = case when o.participants <@ t.participants or cardinality(t.participants) >= ${PARTICIPANTS_MAX}
      then t.participants
      else (select array(select distinct unnest(t.participants || o.participants) limit ${PARTICIPANTS_MAX})) end,
    is_tainted = t.is_tainted or jsonb_array_length(o.taint_reasons) > 0,
    taint_reasons = ${firstReasons(sql`t.taint_reasons || o.taint_reasons`)}
  from json_to_recordset(${storableJson(threads.map(filedRow))}::json) as o (id uuid, participants text[],
    messages integer, unread integer, visible integer, last_message_at timestamptz, taint_reasons jsonb)
  where ${isLookedUpBy(sql`t.id`, sql`o.id`)}`

const insertBegun = (tx: Tx, begun: readonly FiledThread[]) => prepared`
  insert into threads (id, account_id, tenant_id, inbox_id, subject, subject_key, participants, message_count, unread_count,
    visible_count, is_tainted, taint_reasons, last_message_at, created_at)
  select id, account_id, tenant_id, inbox_id, subject, subject_key, participants, messages, unread, visible,
    jsonb_array_length(taint_reasons) > 0, taint_reasons, last_message_at, ${tx.now}
  from json_to_recordset(${storableJson(begun.map(filedRow))}::json) as o (id uuid, account_id uuid, tenant_id uuid,
    inbox_id uuid, subject text, subject_key text, participants text[], messages integer, unread integer, visible integer,
    last_message_at timestamptz, taint_reasons jsonb)`
