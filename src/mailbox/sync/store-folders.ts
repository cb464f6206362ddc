// The folders of the provider and those that they are mirrored in: kept when a session begins, and made where one is missing.
import type { Db, Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { findSystemFolders } from '../folders/counts.ts'
import { ensureFolder } from '../folders/ensure.ts'
import { listFoldersOf } from '../folders/find.ts'
import type { SystemName } from '../folders/system.ts'
import { chooseFolders, type ChosenFolder } from './choose-folders.ts'
import {
  deleteUnusedFolders,
  insertRemoteFolder,
  listRemoteFolders,
  updateRemoteFolder,
  updateRoleFolders,
  type RemoteFolder,
} from './folder-queries.ts'
import { updateLostUids } from './message-queries.ts'
import { transactMirror, type Mirror, type MirrorFolder } from './mirror.ts'

type Without = Omit<Mirror, 'folders'>

interface Cursors {
  uidValidity: number
  uidNext: number
}

/** Those that the provider has now, the inbox first. What was in one that it has no longer counts as lost. */
export async function loadFolders(mirror: Without): Promise<MirrorFolder[]> {
  const chosen = chooseFolders(await mirror.imap.list())
  const paths = chosen.map(({ path }) => path)
  const known = new Set((await listRemoteFolders(mirror.world.db, mirror.lease.inboxId)).map(({ path }) => path))
  const fresh = new Map<string, Cursors>()
  for (const path of paths) {
    const cursors = known.has(path) ? null : await cursorsOf(mirror, path)
    if (cursors) fresh.set(path, cursors)
  }
  const stored = await transactMirror(mirror, async (tx, inbox) => {
    await updateRoleFolders(tx, inbox.id)
    for (const folder of await listRemoteFolders(tx, inbox.id)) {
      if (!paths.includes(folder.path)) await updateLostUids(tx, folder.id, { from: 1, present: [] })
    }
    await deleteUnusedFolders(tx, inbox.id, paths)
    for (const folder of chosen) await keep(tx, { inboxId: inbox.id, folder, cursors: fresh.get(folder.path) ?? null })
    return listRemoteFolders(tx, inbox.id)
  })
  const byPath = new Map(stored.map(folder => [folder.path, folder]))
  return chosen.flatMap(({ path, name }) => {
    const folder = byPath.get(path)
    return folder ? [inMemory(folder, name)] : []
  })
}

/** Null where the mailbox is gone by now. */
async function cursorsOf({ imap }: Pick<Mirror, 'imap'>, path: string): Promise<Cursors | null> {
  const status = await imap.status(path)
  return status && { uidValidity: Number(status.uidValidity ?? 0), uidNext: status.uidNext ?? 1 }
}

const inMemory = (folder: RemoteFolder, name: string): MirrorFolder => ({
  ...folder,
  name,
  pendingFrom: folder.fetched_from,
  queue: [],
})

interface Keeping {
  inboxId: string
  folder: ChosenFolder
  /** Of one that is new. */
  cursors: Cursors | null
}

async function keep(tx: Tx, { inboxId, folder, cursors }: Keeping): Promise<void> {
  const { path, role, isMirrored: is_mirrored, name } = folder
  const all = await listRemoteFolders(tx, inboxId)
  const stored = all.find(each => each.path === path)
  if (!stored && !cursors) return
  const isSettled = stored && stored.folder_id !== null && stored.role === role && stored.is_mirrored === is_mirrored
  if (isSettled) return
  const folder_id = await localId(tx, { inboxId, role, name, all })
  if (stored) await updateRemoteFolder(tx, { id: stored.id, folder_id, role, is_mirrored })
  else await insertRemoteFolder(tx, inboxId, newFolder(tx.now, { path, role, is_mirrored, folder_id }, cursors!))
}

const newFolder = (
  now: Date,
  of: Pick<RemoteFolder, 'path' | 'role' | 'is_mirrored' | 'folder_id'>,
  { uidValidity, uidNext }: Cursors,
): RemoteFolder => ({ id: newId(now), ...of, uid_validity: uidValidity, next_uid: uidNext, fetched_from: uidNext })

interface Local {
  inboxId: string
  role: SystemName | null
  name: string
  all: readonly RemoteFolder[]
}

/** Null: the inbox has as many folders as it may have. */
async function localId(tx: Tx, { inboxId, role, name, all }: Local): Promise<string | null> {
  if (role !== null) return (await findSystemFolders(tx, [inboxId])).get(inboxId)![role]
  const taken = new Set(all.flatMap(({ folder_id }) => folder_id ?? []))
  return (await ensureFolder(tx, { inboxId, name, taken }))?.id ?? null
}

/** Where mail of this folder is filed. One that was deleted here is made again; the archive stands in for one too many. */
export async function localFolderOf(
  tx: Tx,
  inboxId: string,
  folder: MirrorFolder,
): Promise<{ id: string; key: string }> {
  const system = (await findSystemFolders(tx, [inboxId])).get(inboxId)!
  if (folder.role !== null) return { id: system[folder.role], key: folder.role }
  const folders = await listFoldersOf(tx, inboxId)
  const all = await listRemoteFolders(tx, inboxId)
  const stored = all.find(({ id }) => id === folder.id)?.folder_id ?? null
  const found = folders.find(({ id }) => id === stored)
  if (found) return { id: found.id, key: found.name_key }
  const id = await localId(tx, { inboxId, role: null, name: folder.name, all })
  if (id === null) return { id: system.archive, key: 'archive' }
  await updateRemoteFolder(tx, { ...folder, folder_id: id })
  return { id, key: '' }
}

const USUAL_NAMES: Record<SystemName, string> = {
  inbox: 'INBOX',
  sent: 'Sent',
  archive: 'Archive',
  spam: 'Junk',
  trash: 'Trash',
}

/** The folder of the provider that mirrors one of the inbox; made there where it has none. Null: the folder is gone here. */
export async function remoteFolderOf(mirror: Mirror, folderId: string): Promise<MirrorFolder | null> {
  const stored = await listRemoteFolders(mirror.world.db, mirror.lease.inboxId)
  const present = mirror.folders.filter(({ id }) => stored.some(each => each.id === id && each.folder_id === folderId))
  const found = present.find(({ is_mirrored }) => is_mirrored) ?? present[0]
  return found ?? createRemote(mirror, folderId)
}

async function createRemote(mirror: Mirror, folderId: string): Promise<MirrorFolder | null> {
  const local = await findLocal(mirror.world.db, mirror.lease.inboxId, folderId)
  if (!local) return null
  const role = local.is_system ? (local.name_key as SystemName) : null
  const path = await mirror.imap.create(role === null ? local.name : USUAL_NAMES[role])
  const cursors = await cursorsOf(mirror, path)
  if (!cursors) return null
  const folder = newFolder(mirror.world.clock.now(), { path, role, is_mirrored: true, folder_id: folderId }, cursors)
  await transactMirror(mirror, (tx, inbox) => insertRemoteFolder(tx, inbox.id, folder))
  const made = inMemory(folder, local.name)
  mirror.folders.push(made)
  return made
}

const findLocal = async (db: Db, inboxId: string, folderId: string) =>
  (await listFoldersOf(db, inboxId)).find(({ id }) => id === folderId)
