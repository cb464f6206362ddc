// Folders that were made, renamed or deleted here are made, renamed or deleted at the provider. Nothing is queued: what differs
// from what both sides agreed on last is what is to be done. What the provider refuses stays as it is there.
import { listFoldersOf, type Folder } from '../folders/find.ts'
import { pathsFor } from './choose-folders.ts'
import { openFolder } from './fetch.ts'
import { listRemoteFolders, updateRemoteFolder, type RemoteFolder } from './folder-queries.ts'
import { countOnlyThere } from './message-queries.ts'
import { transactMirror, type Mirror, type MirrorFolder } from './mirror.ts'
import { createRemote, FolderRefused } from './store-folders.ts'

/** To be asked when messages were pushed: a folder is deleted there once they left it. Answers whether anything was done. */
export async function pushFolders(mirror: Mirror): Promise<boolean> {
  const { world, lease, connectedAt } = mirror
  const stored = await listRemoteFolders(world.db, lease.inboxId)
  const locals = new Map((await listFoldersOf(world.db, lease.inboxId)).map(folder => [folder.id, folder]))
  let hasPushed = false
  for (const row of stored) {
    const folder = mirror.folders.find(({ id }) => id === row.id)
    if (!folder || row.agreed_name === null) continue
    const local = locals.get(row.folder_id ?? '')
    if (!local) hasPushed = (await pushDeletion(mirror, { folder, row })) || hasPushed
    else if (local.name !== row.agreed_name)
      hasPushed = (await pushName(mirror, { folder, row, local, stored })) || hasPushed
  }
  const mirrored = new Set(stored.map(({ folder_id }) => folder_id))
  for (const local of locals.values()) {
    // Those from before the connection follow when a message is moved into them.
    const isNew = !local.is_system && local.created_at >= connectedAt && !mirrored.has(local.id)
    if (isNew) hasPushed = (await pushNew(mirror, local)) || hasPushed
  }
  return hasPushed
}

/** One that the provider refuses to make is here only, and does not keep messages from being mirrored. */
async function pushNew(mirror: Mirror, local: Folder): Promise<boolean> {
  try {
    return (await createRemote(mirror, local)) !== null
  } catch (err) {
    if (err instanceof FolderRefused) return false
    throw err
  }
}

interface Renaming {
  folder: MirrorFolder
  row: RemoteFolder
  local: Folder
  stored: readonly RemoteFolder[]
}

/** What is below it there is renamed with it, which the next list shows. */
async function pushName(mirror: Mirror, { folder, row, local, stored }: Renaming): Promise<boolean> {
  const wanted = pathsFor(local.name, folder.delimiter)
  const present = new Set(mirror.folders.map(({ id }) => id))
  // What was at that path before is gone, and not settled yet.
  if (stored.some(({ id, path }) => wanted.includes(path) && !present.has(id))) return false
  const path = wanted.includes(row.path) ? row.path : await renameTo(mirror, row.path, wanted)
  await transactMirror(mirror, async (tx, inbox) => {
    const now = (await listRemoteFolders(tx, inbox.id)).find(({ id }) => id === row.id)
    if (now) await updateRemoteFolder(tx, { ...now, path, agreed_name: local.name })
  })
  Object.assign(folder, { path, name: local.name })
  return true
}

/** Answers the path that it has then, which is the one before where the provider refuses every other one. */
async function renameTo({ imap }: Mirror, from: string, wanted: readonly string[]): Promise<string> {
  for (const path of wanted) {
    const renamed = await imap.rename(from, path)
    if (renamed !== null) return renamed
  }
  return from
}

/**
 * Only once nothing is left in it that the provider has nowhere else: mail that came there meanwhile is filed instead, and the
 * folder is made here again.
 */
async function pushDeletion(mirror: Mirror, { folder, row }: { folder: MirrorFolder; row: RemoteFolder }) {
  const { exists } = await openFolder(mirror, folder)
  const uids = exists === 0 ? [] : await mirror.imap.search('1:*')
  if ((await countOnlyThere(mirror.world.db, folder.id, uids)) > 0) return false
  const isGone = (await mirror.imap.drop(row.path)) !== null
  // Done, or refused: then it is made here again by the next list.
  await transactMirror(mirror, tx => updateRemoteFolder(tx, { ...row, agreed_name: null }))
  if (isGone) mirror.folders.splice(mirror.folders.indexOf(folder), 1)
  return true
}
