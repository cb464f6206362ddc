// Where mail of a provider's folder is filed here, and where the provider has what is in a folder here. Either is made where it
// is missing.
import type { Tx } from '../../platform/db/database.ts'
import { findSystemFolders } from '../folders/counts.ts'
import { ensureFolders } from '../folders/ensure.ts'
import { recordFoldersChanged, listFoldersOf, type Folder } from '../folders/find.ts'
import type { SystemName } from '../folders/system.ts'
import { ProviderFault } from '../imap/fault.ts'
import type { LockedInbox } from '../inboxes/lock.ts'
import { pathsFor } from './choose-folders.ts'
import {
  insertRemoteFolders,
  listRemoteFolders,
  updateFolderReset,
  updateRemoteFolder,
  type RemoteFolder,
} from './folder-queries.ts'
import { cursorsOf, inMemory, newRemoteFolder } from './load-folders.ts'
import { loseMessages, transactMirror, type Mirror, type MirrorFolder } from './mirror.ts'

/** Where mail of this folder is filed. One that was deleted here is made again; the archive stands in for one too many. */
export async function localFolderOf(
  tx: Tx,
  inbox: LockedInbox,
  folder: MirrorFolder,
): Promise<{ id: string; key: string }> {
  const inboxId = inbox.id
  const system = (await findSystemFolders(tx, [inboxId])).get(inboxId)!
  if (folder.role !== null) return { id: system[folder.role], key: folder.role }
  const folders = await listFoldersOf(tx, inboxId)
  const rows = await listRemoteFolders(tx, inboxId)
  const row = rows.find(({ id }) => id === folder.id)
  const found = folders.find(({ id }) => id === row?.folder_id)
  if (found) return { id: found.id, key: found.name_key }
  const taken = new Set(rows.flatMap(({ folder_id }) => folder_id ?? []))
  const [local] = (await ensureFolders(tx, { inboxId, names: [folder.name], taken })).found
  if (!local) return { id: system.archive, key: 'archive' }
  await updateRemoteFolder(tx, { ...(row ?? folder), folder_id: local.id, agreed_name: local.name })
  recordFoldersChanged(tx, inbox)
  return { id: local.id, key: local.name_key }
}

/** The folder of the provider that mirrors one of the inbox; made there where it has none. Null: the folder is gone here. */
export async function remoteFolderOf(mirror: Mirror, folderId: string): Promise<MirrorFolder | null> {
  const stored = await listRemoteFolders(mirror.world.db, mirror.lease.inboxId)
  const present = mirror.folders.filter(({ id }) => stored.some(each => each.id === id && each.folder_id === folderId))
  const found = present.find(({ is_mirrored }) => is_mirrored) ?? present[0]
  if (found) return found
  const local = (await listFoldersOf(mirror.world.db, mirror.lease.inboxId)).find(({ id }) => id === folderId)
  return local ? createRemote(mirror, local) : null
}

const USUAL_NAMES: Record<SystemName, string> = {
  inbox: 'INBOX',
  sent: 'Sent',
  archive: 'Archive',
  spam: 'Junk',
  trash: 'Trash',
}

/** None of the paths that a folder could have. */
export class FolderRefused extends ProviderFault {
  constructor() {
    super('failed', 'The provider refuses to make a folder.')
    this.name = 'FolderRefused'
  }
}

/** Null: it is gone again, there or here. */
export async function createRemote(mirror: Mirror, local: Folder): Promise<MirrorFolder | null> {
  const role = local.is_system ? (local.name_key as SystemName) : null
  const { delimiter } = mirror.folders[0]!
  const path = await createAt(mirror, role === null ? pathsFor(local.name, delimiter) : [USUAL_NAMES[role]])
  const cursors = await cursorsOf(mirror, path)
  if (!cursors) return null
  const of = { path, role, is_mirrored: true, folder_id: local.id, agreed_name: role === null ? local.name : null }
  const fresh = newRemoteFolder(mirror.world.clock.now(), of, cursors)
  const folder = await transactMirror(mirror, async (tx, inbox) => {
    // Deleted here meanwhile: the next list finds it there, and it is made here again.
    if (!(await listFoldersOf(tx, inbox.id)).some(({ id }) => id === local.id)) return null
    return insertOrReset(tx, mirror, fresh)
  })
  if (!folder) return null
  const made = inMemory(folder, { name: local.name, delimiter })
  mirror.folders.push(made)
  return made
}

/** The row of one that was at the same path, and is gone, becomes the row of the new one. */
async function insertOrReset(tx: Tx, mirror: Mirror, fresh: RemoteFolder): Promise<RemoteFolder> {
  const { inboxId } = mirror.lease
  const before = (await listRemoteFolders(tx, inboxId)).find(({ path }) => path === fresh.path)
  if (!before) {
    await insertRemoteFolders(tx, inboxId, [fresh])
    return fresh
  }
  const folder = { ...fresh, id: before.id }
  await loseMessages(tx, mirror, { folderId: before.id, from: 1, present: [] })
  await updateFolderReset(tx, before.id, folder)
  await updateRemoteFolder(tx, folder)
  return folder
}

const NUMBERS = [2, 3, 4, 5]

/** The first that is free and that the provider does not refuse; the last one with a number, if need be. */
async function createAt({ imap, folders }: Mirror, paths: readonly string[]): Promise<string> {
  const isTaken = (path: string): boolean => folders.some(folder => folder.path === path)
  for (const path of [...paths, ...NUMBERS.map(n => `${paths.at(-1) ?? 'Folder'} ${n}`)]) {
    const made = isTaken(path) ? null : await imap.create(path)
    if (made !== null && !isTaken(made)) return made
  }
  throw new FolderRefused()
}
