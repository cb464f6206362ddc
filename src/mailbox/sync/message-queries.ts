// The SQL of which message at the provider each message here is. A transaction that writes has locked the inbox. A row
// whose UID is not above zero is of a message that was not found again where it was: it moved, or it is gone.
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'

export interface RemoteMessage {
  remote_folder_id: string
  uid: number
  message_id: string | null
  is_read: boolean
  identity: Buffer
}

/** Further than any UID reaches, so that two that are lost never meet. */
const LOST_STEP = 2 ** 33
const UID_MAX = 2 ** 32

export async function insertRemoteMessages(tx: Tx, inboxId: string, rows: readonly RemoteMessage[]): Promise<void> {
  if (rows.length === 0) return
  await tx.run(prepared`
    insert into remote_messages (remote_folder_id, uid, inbox_id, message_id, is_read, identity)
    select folder_id, uid, ${inboxId}, message_id, is_read, decode(identity, 'hex')
    from unnest(${bareArray(rows.map(each => each.remote_folder_id))}::uuid[],
      ${bareArray(rows.map(each => each.uid))}::bigint[], ${bareArray(rows.map(each => each.message_id))}::uuid[],
      ${bareArray(rows.map(each => String(each.is_read)))}::boolean[],
      ${bareArray(rows.map(each => each.identity.toString('hex')))}::text[])
      as r (folder_id, uid, message_id, is_read, identity)
    on conflict (remote_folder_id, uid) do update set message_id = excluded.message_id, is_read = excluded.is_read,
      identity = excluded.identity`)
}

export async function listKnownUids(db: Db, folderId: string, uids: readonly number[]): Promise<Set<number>> {
  const rows = await db.many<{ uid: number }>(prepared`
    select uid from remote_messages where remote_folder_id = ${folderId} and uid = any(${bareArray(uids)}::bigint[])`)
  return new Set(rows.map(({ uid }) => uid))
}

export const countLive = (db: Db, folderId: string): Promise<number> =>
  db.value<number>(prepared`
    select count(*)::int from remote_messages where remote_folder_id = ${folderId} and uid > 0`)

export async function listLiveUids(db: Db, folderId: string): Promise<number[]> {
  const rows = await db.many<{ uid: number }>(prepared`
    select uid from remote_messages where remote_folder_id = ${folderId} and uid > 0 order by uid`)
  return rows.map(({ uid }) => uid)
}

export const listNewestLive = (db: Db, folderId: string, limit: number): Promise<{ uid: number; identity: Buffer }[]> =>
  db.many(prepared`
    select uid, identity from remote_messages where remote_folder_id = ${folderId} and uid > 0
    order by uid desc limit ${limit}`)

/** Of these UIDs of a folder, how many are of messages that the provider has, as far as is known, in no other one. */
export const countOnlyThere = (db: Db, folderId: string, uids: readonly number[]): Promise<number> =>
  db.value<number>(sql`
    select count(*)::int from unnest(${bareArray(uids)}::bigint[]) as u (uid)
    where not exists (select from remote_messages r join remote_messages o on o.message_id = r.message_id
      where r.remote_folder_id = ${folderId} and r.uid = u.uid and o.remote_folder_id <> ${folderId} and o.uid > 0)`)

interface LostRange {
  from: number
  /** The last one; without it all. */
  to?: number
  present: readonly number[]
}

interface Lost {
  messageIds: string[]
  /** Of rows that stand for a message at the provider no longer, those of messages that were removed here included. */
  count: number
}

/** Those of the folder within the range that are not among these were not found; answers the messages that they were. */
export async function updateLostUids(
  tx: Tx,
  folderId: string,
  { from, to = UID_MAX, present }: LostRange,
): Promise<Lost> {
  const isLost = sql`r.remote_folder_id = ${folderId} and r.uid >= ${from} and r.uid > 0 and r.uid <= ${to}
    and r.uid not in (select unnest(${bareArray(present)}::bigint[]))`
  const rows = await tx.many<{ message_id: string | null }>(prepared`
    update remote_messages r set uid = r.uid + least(0, s.least) - ${LOST_STEP}
    from (select coalesce(min(uid), 0) as least from remote_messages where remote_folder_id = ${folderId}) s
    where ${isLost} returning r.message_id`)
  return { messageIds: rows.flatMap(row => row.message_id ?? []), count: rows.length }
}

/** Of those from a UID on: which the provider shows as read, or unread, other than both sides agreed last. */
export const listFlagChanges = (
  db: Db,
  folderId: string,
  { from, unseen }: { from: number; unseen: readonly number[] },
): Promise<{ uid: number; message_id: string; is_read: boolean }[]> =>
  db.many(prepared`
    select r.uid, r.message_id, u.uid is null as is_read from remote_messages r
    left join unnest(${bareArray(unseen)}::bigint[]) as u (uid) on u.uid = r.uid
    where r.remote_folder_id = ${folderId} and r.uid >= ${from} and r.uid > 0 and r.message_id is not null
      and r.is_read <> (u.uid is null)`)

export const updateAgreedRead = (
  tx: Tx,
  folderId: string,
  { uids, isRead }: { uids: readonly number[]; isRead: boolean },
): Promise<number> =>
  tx.run(prepared`
    update remote_messages set is_read = ${isRead}
    where remote_folder_id = ${folderId} and uid = any(${bareArray(uids)}::bigint[])`)

type RowName = Pick<RemoteMessage, 'remote_folder_id' | 'uid'>

/** Answers those that were there. */
export async function deleteRemoteMessages(tx: Tx, rows: readonly RowName[]): Promise<RemoteMessage[]> {
  if (rows.length === 0) return []
  return tx.many<RemoteMessage>(prepared`
    delete from remote_messages r
    using unnest(${bareArray(rows.map(each => each.remote_folder_id))}::uuid[],
      ${bareArray(rows.map(each => each.uid))}::bigint[]) as o (folder_id, uid)
    where r.remote_folder_id = o.folder_id and r.uid = o.uid
    returning r.remote_folder_id, r.uid, r.message_id, r.is_read, r.identity`)
}

/** A row of a message that may be the one asked for, at its place `n` among them. Without message: it was removed here. */
export interface Candidate extends Omit<RemoteMessage, 'identity'> {
  n: number
}

interface AskedHead {
  identity: Buffer
  receivedAt: Date
  size: number
}

interface CandidatesAsked {
  inboxId: string
  folderId: string
  heads: readonly AskedHead[]
  /** Which messages that were removed here, and turn up in this folder, are to be removed there too. */
  removed: 'none' | 'lost in this folder' | 'all'
}

/**
 * Messages of the inbox with the same Message-ID and the same date or size that this folder has not, those lost first; then
 * what was removed here, of which nothing but the Message-ID is known any more.
 */
export const listCandidates = (db: Db, { inboxId, folderId, heads, removed }: CandidatesAsked): Promise<Candidate[]> =>
  db.many<Candidate>(prepared`
    select asked.n::int as n, r.message_id, r.remote_folder_id, r.uid, r.is_read
    from unnest(${bareArray(heads.map(each => each.identity.toString('hex')))}::text[],
      ${heads.map(each => each.receivedAt)}::timestamptz[], ${bareArray(heads.map(each => each.size))}::int[])
      with ordinality as asked (identity, received_at, size, n)
    join remote_messages r on r.inbox_id = ${inboxId} and r.identity = decode(asked.identity, 'hex')
    left join inbox_messages m on m.id = r.message_id
    where case when r.message_id is null
      then (r.uid <= 0 or r.remote_folder_id <> ${folderId})
        and (${removed === 'all'} or ${removed !== 'none'} and r.uid <= 0 and r.remote_folder_id = ${folderId})
        and not exists (select from remote_messages o where o.inbox_id = ${inboxId} and o.identity = r.identity
          and o.message_id is null and o.remote_folder_id = ${folderId} and o.uid > 0)
      else (m.received_at = asked.received_at or m.size = asked.size)
        and not exists (select from remote_messages o
          where o.message_id = r.message_id and o.remote_folder_id = ${folderId} and o.uid > 0) end
    order by r.message_id is null, r.uid > 0, r.remote_folder_id <> ${folderId}, r.uid`)

/**
 * Messages that stand for none of the provider's, at the place `n` of who has the same Message-ID: what was sent from here,
 * and what an earlier connection has left, which has the same date and size.
 */
export const listUnlinked = (
  db: Db,
  {
    inboxId,
    heads,
    isSent,
  }: { inboxId: string; heads: readonly (AskedHead & { messageId: string })[]; isSent: boolean },
): Promise<{ n: number; id: string; direction: 'in' | 'out' }[]> =>
  db.many(prepared`
    select asked.n::int as n, m.id, m.direction
    from unnest(${bareArray(heads.map(each => each.identity.toString('hex')))}::text[],
      ${heads.map(each => each.messageId)}::text[], ${heads.map(each => each.receivedAt)}::timestamptz[],
      ${bareArray(heads.map(each => each.size))}::int[])
      with ordinality as asked (identity, rfc_id, received_at, size, n)
    join thread_references t on t.inbox_id = ${inboxId} and t.rfc_id = decode(asked.identity, 'hex')
    join inbox_messages m on m.thread_id = t.thread_id and m.rfc_message_id = asked.rfc_id and m.inbox_id = ${inboxId}
      and ((${isSent} and m.direction = 'out') or (m.received_at = asked.received_at and m.size = asked.size))
    where not exists (select from remote_messages r where r.message_id = m.id)
    order by m.id`)

/** Where a message is here, and one of the folders that the provider has it in. */
export interface Standing {
  message_id: string
  now_folder_id: string
  now_key: string
  is_blocked: boolean
  folder_id: string
  is_mirrored: boolean
}

export const listStandings = (db: Db, messageIds: readonly string[]): Promise<Standing[]> =>
  db.many<Standing>(prepared`
    select m.id as message_id, m.folder_id as now_folder_id, f.name_key as now_key, m.is_blocked, rf.folder_id,
      rf.is_mirrored
    from inbox_messages m join folders f on f.id = m.folder_id and f.discarded_at is null
    join remote_messages r on r.message_id = m.id and r.uid > 0
    join remote_folders rf on rf.id = r.remote_folder_id and rf.folder_id is not null
    where m.id = any(${bareArray(messageIds)}::uuid[])
    order by rf.is_mirrored desc, rf.role = 'inbox' desc nulls last, rf.id, r.uid`)

export interface LostMessage extends RemoteMessage {
  message_id: string
  rfc_message_id: string | null
}

/** Messages that the provider has nowhere, as far as is known. */
export const listLost = (db: Db, inboxId: string, limit: number): Promise<LostMessage[]> =>
  db.many<LostMessage>(prepared`
    select r.message_id, r.remote_folder_id, r.uid, r.is_read, r.identity, m.rfc_message_id
    from remote_messages r join inbox_messages m on m.id = r.message_id
    where r.inbox_id = ${inboxId} and r.uid <= 0
      and not exists (select from remote_messages o where o.message_id = r.message_id and o.uid > 0)
    order by r.remote_folder_id, r.uid limit ${limit}`)

/** Rows of messages that were removed here, and were not found where they were at the provider. */
export const listLostRemoved = (db: Db, inboxId: string, limit: number): Promise<RowName[]> =>
  db.many<RowName>(prepared`
    select remote_folder_id, uid from remote_messages
    where inbox_id = ${inboxId} and uid <= 0 and message_id is null
    order by remote_folder_id, uid limit ${limit}`)

/** Rows of messages that were found elsewhere. */
export const deleteSettled = (tx: Tx, inboxId: string): Promise<number> =>
  tx.run(prepared`
    delete from remote_messages r where r.inbox_id = ${inboxId} and r.uid <= 0
      and exists (select from remote_messages o where o.message_id = r.message_id and o.uid > 0)`)

export async function listPresent(db: Db, messageIds: readonly string[]): Promise<Set<string>> {
  const rows = await db.many<{ id: string }>(prepared`
    select id from inbox_messages where id = any(${bareArray(messageIds)}::uuid[])`)
  return new Set(rows.map(({ id }) => id))
}
