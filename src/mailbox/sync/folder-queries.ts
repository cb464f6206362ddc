// The SQL of the provider's folders and how far each was read. A transaction that writes has locked the inbox.
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'
import type { SystemName } from '../folders/system.ts'

export interface RemoteFolder {
  id: string
  path: string
  /** The folder here. Null: there is none, or not any more. */
  folder_id: string | null
  role: SystemName | null
  is_mirrored: boolean
  uid_validity: number
  next_uid: number
  fetched_from: number
  /** What the folder here was called when both sides agreed last. Without a folder here: it was deleted here since. */
  agreed_name: string | null
}

const columns = sql`id, path, folder_id, role, is_mirrored, uid_validity, next_uid, fetched_from, agreed_name`

export const listRemoteFolders = (db: Db, inboxId: string): Promise<RemoteFolder[]> =>
  db.many<RemoteFolder>(prepared`select ${columns} from remote_folders where inbox_id = ${inboxId}`)

/** The folders that every inbox has may be other rows since they were emptied. */
export const updateRoleFolders = (tx: Tx, inboxId: string): Promise<number> =>
  tx.run(prepared`
    update remote_folders r set folder_id = f.id from folders f
    where r.inbox_id = ${inboxId} and r.role is not null and f.inbox_id = r.inbox_id and f.is_system
      and f.name_key = r.role and f.discarded_at is null and r.folder_id is distinct from f.id`)

export async function insertRemoteFolders(tx: Tx, inboxId: string, folders: readonly RemoteFolder[]): Promise<void> {
  if (folders.length === 0) return
  await tx.run(prepared`
    insert into remote_folders (id, inbox_id, path, folder_id, role, is_mirrored, uid_validity, next_uid, fetched_from,
      agreed_name)
    select id, ${inboxId}, path, folder_id, role, is_mirrored, uid_validity, next_uid, fetched_from, agreed_name
    from unnest(${bareArray(folders.map(each => each.id))}::uuid[], ${folders.map(each => each.path)}::text[],
      ${bareArray(folders.map(each => each.folder_id))}::uuid[], ${folders.map(each => each.role)}::text[],
      ${folders.map(each => each.is_mirrored)}::boolean[], ${bareArray(folders.map(each => each.uid_validity))}::bigint[],
      ${bareArray(folders.map(each => each.next_uid))}::bigint[],
      ${bareArray(folders.map(each => each.fetched_from))}::bigint[], ${folders.map(each => each.agreed_name)}::text[])
      as f (id, path, folder_id, role, is_mirrored, uid_validity, next_uid, fetched_from, agreed_name)`)
}

export const updateRemoteFolder = (
  tx: Tx,
  folder: Pick<RemoteFolder, 'id' | 'path' | 'folder_id' | 'role' | 'is_mirrored' | 'agreed_name'>,
): Promise<number> =>
  tx.run(prepared`
    update remote_folders set path = ${folder.path}, folder_id = ${folder.folder_id}, role = ${folder.role},
      is_mirrored = ${folder.is_mirrored}, agreed_name = ${folder.agreed_name}
    where id = ${folder.id}`)

type Cursor = Pick<RemoteFolder, 'uid_validity' | 'next_uid' | 'fetched_from'>

/** Nothing of it was read, under a UIDVALIDITY that is new. */
export const updateFolderReset = (tx: Tx, id: string, { uid_validity, next_uid, fetched_from }: Cursor) =>
  tx.run(prepared`
    update remote_folders set uid_validity = ${uid_validity}, next_uid = ${next_uid}, fetched_from = ${fetched_from}
    where id = ${id}`)

/** Never back: the part of it that was read only grows. False where the folder has got another UIDVALIDITY meanwhile. */
export const updateCursor = async (tx: Tx, id: string, { uid_validity, next_uid, fetched_from }: Cursor) =>
  (await tx.run(prepared`
    update remote_folders set next_uid = greatest(next_uid, ${next_uid}), fetched_from = least(fetched_from, ${fetched_from})
    where id = ${id} and uid_validity = ${uid_validity}`)) > 0

/** Folders other than these that no message is known from. */
export const listUnusedFolders = (db: Db, inboxId: string, present: readonly string[]): Promise<RemoteFolder[]> =>
  db.many<RemoteFolder>(prepared`
    select ${columns} from remote_folders r where r.inbox_id = ${inboxId} and r.id <> all(${bareArray(present)}::uuid[])
      and not exists (select from remote_messages m where m.remote_folder_id = r.id)`)

export const deleteRemoteFolder = (tx: Tx, id: string): Promise<number> =>
  tx.run(prepared`delete from remote_folders where id = ${id}`)
