// Finding the folder that a request names: a name that belongs to no folder of the inbox is 404 in a path, 400 elsewhere. And
// what the streams and the audit log are told of folders.
import type { Db, Tx } from '../../platform/db/database.ts'
import { missing, refuse } from '../../platform/refusal.ts'
import { auditIn, ownerOf, type InboxOwner } from '../inboxes/lock.ts'
import { folderKey } from './name.ts'
import { findFolderByKey, listDiscarded, listFolders, type StoredFolder } from './queries.ts'

export type Folder = StoredFolder

export { listFolders as listFoldersOf, listDiscarded as listDiscardedFolders }

export const requireFolder = async (db: Db, inboxId: string, name: string): Promise<Folder> =>
  (await findFolderByKey(db, inboxId, folderKey(name))) ?? missing('folder')

/** Where messages may be moved. `sent` holds what was sent, and nothing else. */
export async function requireDestination(
  db: Db,
  { inboxId, name, field }: { inboxId: string; name: string; field: string },
): Promise<Folder> {
  const folder = await findFolderByKey(db, inboxId, folderKey(name))
  if (!folder) throw unknownFolder(field)
  if (folder.is_system && folder.name_key === 'sent') {
    throw refuse('invalid_request', `${field} must not be sent: that folder holds what was sent.`)
  }
  return folder
}

export const unknownFolder = (field: string) =>
  refuse('invalid_request', `${field} must be the name of a folder of this inbox.`)

export const recordFoldersChanged = (tx: Tx, inbox: InboxOwner): void =>
  tx.record({ type: 'inbox.updated', ...ownerOf(inbox), data: { changed: ['folders'] } })

export const auditFolder = (tx: Tx, inbox: InboxOwner, id: string, change: { before?: object; after?: object }): void =>
  auditIn(tx, inbox, { target: { type: 'folder', id }, ...change })
