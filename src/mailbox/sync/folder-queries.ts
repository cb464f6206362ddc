// The SQL of the provider's folders and how far each was read. A transaction that writes has locked the inbox.
import type { Db, Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
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
}

const columns = sql`id, path, folder_id, role, is_mirrored, uid_validity, next_uid, fetched_from`

export const listRemoteFolders = (db: Db, inboxId: string): Promise<RemoteFolder[]> =>
  db.many<RemoteFolder>(prepared`select ${columns} from remote_folders where inbox_id = ${inboxId}`)

/** The folders that every inbox has may be other rows since they were emptied. */
export const updateRoleFolders = (tx: Tx, inboxId: string): Promise<number> =>
  tx.run(prepared`
    update remote_folders r set folder_id = f.id from folders f
    where r.inbox_id = ${inboxId} and r.role is not null and f.inbox_id = r.inbox_id and f.is_system
      and f.name_key = r.role and f.discarded_at is null and r.folder_id is distinct from f.id`)

export const insertRemoteFolder = (tx: Tx, inboxId: string, folder: RemoteFolder): Promise<number> =>
  tx.run(prepared`
    insert into remote_folders (id, inbox_id, path, folder_id, role, is_mirrored, uid_validity, next_uid, fetched_from)
    values (${folder.id}, ${inboxId}, ${folder.path}, ${folder.folder_id}, ${folder.role}, ${folder.is_mirrored},
      ${folder.uid_validity}, ${folder.next_uid}, ${folder.fetched_from})`)

export const updateRemoteFolder = (
  tx: Tx,
  { id, folder_id, role, is_mirrored }: Pick<RemoteFolder, 'id' | 'folder_id' | 'role' | 'is_mirrored'>,
): Promise<number> =>
  tx.run(prepared`
    update remote_folders set folder_id = ${folder_id}, role = ${role}, is_mirrored = ${is_mirrored} where id = ${id}`)

type Cursor = Pick<RemoteFolder, 'uid_validity' | 'next_uid' | 'fetched_from'>

/** Nothing of it was read, under a UIDVALIDITY that is new. */
export const updateFolderReset = (tx: Tx, id: string, { uid_validity, next_uid, fetched_from }: Cursor) =>
  tx.run(prepared`
    update remote_folders set uid_validity = ${uid_validity}, next_uid = ${next_uid}, fetched_from = ${fetched_from}
    where id = ${id}`)

/** Never back: the part of it that was read only grows. False where the folder has got another UIDVALIDITY meanwhile. */
export const updateCursor = async (
  tx: Tx,
  id: string,
  { uid_validity, next_uid, fetched_from }: Cursor,
): Promise<boolean> =>
  (await tx.run(prepared`
    update remote_folders set next_uid = greatest(next_uid, ${next_uid}), fetched_from = least(fetched_from, ${fetched_from})
    where id = ${id} and uid_validity = ${uid_validity}`)) > 0

/** Folders that the provider has no longer and that no message is known from. */
export const deleteUnusedFolders = (tx: Tx, inboxId: string, paths: readonly string[]): Promise<number> =>
  tx.run(prepared`
    delete from remote_folders r where r.inbox_id = ${inboxId} and r.path <> all(${paths}::text[])
      and not exists (select from remote_messages m where m.remote_folder_id = r.id)`)
