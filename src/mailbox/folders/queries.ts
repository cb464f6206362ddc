// All SQL over folders; the only writer of that table. A transaction that writes has locked the inbox.
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { isLookedUpBy } from '../../platform/db/planner.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'
import type { FolderDelta } from './counts.ts'
import type { SystemName } from './system.ts'

export interface StoredFolder {
  id: string
  inbox_id: string
  name: string
  name_key: string
  is_system: boolean
  total: number
  unread: number
  blocked: number
  created_at: Date
}

const columns = sql`id, inbox_id, name, name_key, is_system, total, unread, blocked, created_at`

type NewFolder = Pick<StoredFolder, 'id' | 'inbox_id' | 'name' | 'name_key' | 'is_system'>

export async function insertFolders(tx: Tx, folders: readonly NewFolder[]): Promise<void> {
  await tx.run(prepared`
    insert into folders (id, inbox_id, name, name_key, is_system, created_at)
    select id, inbox_id, name, name_key, is_system, ${tx.now}
    from unnest(${bareArray(folders.map(each => each.id))}::uuid[],
      ${bareArray(folders.map(each => each.inbox_id))}::uuid[], ${folders.map(each => each.name)}::text[],
      ${folders.map(each => each.name_key)}::text[], ${folders.map(each => each.is_system)}::boolean[])
      as folder (id, inbox_id, name, name_key, is_system)`)
}

/** Of an inbox that the caller found within its reach. At most five system folders and FOLDERS_MAX others. */
export const listFolders = (db: Reads, inboxId: string): Promise<StoredFolder[]> =>
  db.many<StoredFolder>(prepared`
    select ${columns} from folders where inbox_id = ${inboxId} and discarded_at is null`)

export const findFolderByKey = (db: Db, inboxId: string, nameKey: string): Promise<StoredFolder | null> =>
  db.maybe<StoredFolder>(prepared`
    select ${columns} from folders
    where inbox_id = ${inboxId} and name_key = ${nameKey} and discarded_at is null`)

/** Folders of the inbox whose messages nobody sees any more. */
export const listDiscarded = (db: Reads, inboxId: string): Promise<Pick<StoredFolder, 'id' | 'name_key' | 'total'>[]> =>
  db.many(prepared`select id, name_key, total from folders where inbox_id = ${inboxId} and discarded_at is not null`)

export const listSystemFolders = (db: Db, inboxIds: readonly string[], names: readonly SystemName[]) =>
  db.many<{ id: string; inbox_id: string; name_key: SystemName }>(prepared`
    select id, inbox_id, name_key from folders
    where inbox_id = any(${bareArray(inboxIds)}::uuid[]) and name_key = any(${names}::text[]) and is_system
      and discarded_at is null`)

/** Travels with the commit. */
export function updateFolderCounts(tx: Tx, deltas: readonly FolderDelta[]): void {
  tx.alongIndexes.send(prepared`
    update folders f set total = f.total + d.total, unread = f.unread + d.unread, blocked = f.blocked + d.blocked
    from unnest(${bareArray(deltas.map(each => each.folderId))}::uuid[],
      ${bareArray(deltas.map(each => each.total))}::int[], ${bareArray(deltas.map(each => each.unread))}::int[],
      ${bareArray(deltas.map(each => each.blocked))}::int[]) as d (id, total, unread, blocked)
    where ${isLookedUpBy(sql`f.id`, sql`d.id`)}`)
}

export const countCustomFolders = (db: Db, inboxId: string): Promise<number> =>
  db.value<number>(sql`
    select count(*)::int from folders
    where inbox_id = ${inboxId} and not is_system and discarded_at is null`)

export const updateFolderName = (tx: Tx, { id, name, name_key }: NewFolderName): Promise<StoredFolder> =>
  tx.one<StoredFolder>(sql`
    update folders set name = ${name}, name_key = ${name_key} where id = ${id} returning ${columns}`)

type NewFolderName = Pick<StoredFolder, 'id' | 'name' | 'name_key'>

/** Its messages are gone for every reader; a fresh row may take its name. */
export async function updateFolderDiscarded(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`update folders set discarded_at = ${tx.now} where id = ${id}`)
}

export async function deleteFolderRow(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`delete from folders where id = ${id}`)
}

/** Of an inbox whose messages are gone. */
export const deleteFoldersOfInbox = (tx: Tx, inboxId: string): Promise<number> =>
  tx.run(sql`delete from folders where inbox_id = ${inboxId}`)

export interface DiscardedFolder {
  id: string
  inbox_id: string
  account_id: string
}

/**
 * The first of each account, then the second of each; emptied the longest ago first. Those of accounts under legal hold keep
 * what they have, and those of deleted inboxes go with the inbox.
 */
export const listDiscardedAnywhere = (db: Db, { limit, except }: { limit: number; except: readonly string[] }) =>
  db.many<DiscardedFolder>(sql`
    select f.id, f.inbox_id, i.account_id
    from folders f join inboxes i on i.id = f.inbox_id join accounts a on a.id = i.account_id
    where f.discarded_at is not null and i.deleted_at is null and not a.legal_hold and f.id <> all(${except}::uuid[])
    order by row_number() over (partition by i.account_id order by f.discarded_at), f.discarded_at limit ${limit}`)

export const isStillDiscarded = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.maybe(sql`select id from folders where id = ${id} and discarded_at is not null`)) !== null
