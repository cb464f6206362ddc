// The folders of the provider and those that they are mirrored in, when a session begins and again from time to time. What was
// made, renamed or deleted at the provider is made, renamed or deleted here.
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { findSystemFolders } from '../folders/counts.ts'
import { ensureFolders, renameFreely } from '../folders/ensure.ts'
import { recordFoldersChanged, listFoldersOf } from '../folders/find.ts'
import type { LockedInbox } from '../inboxes/lock.ts'
import { chooseFolders, type ChosenFolder } from './choose-folders.ts'
import {
  insertRemoteFolders,
  listRemoteFolders,
  updateRemoteFolder,
  updateRoleFolders,
  type RemoteFolder,
} from './folder-queries.ts'
import { ProviderFault } from '../imap/fault.ts'
import { loseMessages, transactMirror, type Mirror, type MirrorFolder } from './mirror.ts'
import { placeMessages } from './place.ts'
import { findRenamed } from './renamed-folders.ts'

interface Cursors {
  uidValidity: number
  uidNext: number
}

/** A folder that was not known by this path. */
export interface FreshFolder extends ChosenFolder {
  cursors: Cursors
}

type Without = Omit<Mirror, 'folders'>

/** Those that the provider has now, the inbox first. What was in one that it has no longer counts as lost. */
export async function loadFolders(mirror: Without): Promise<MirrorFolder[]> {
  const stored = await listRemoteFolders(mirror.world.db, mirror.lease.inboxId)
  const { chosen, vanished } = await listChosen(mirror, stored)
  const known = new Set(stored.map(({ path }) => path))
  const fresh: FreshFolder[] = []
  for (const folder of chosen) {
    const cursors = known.has(folder.path) ? null : await cursorsOf(mirror, folder.path)
    if (cursors) fresh.push({ ...folder, cursors })
  }
  const renamed = await findRenamed(mirror, vanished, fresh)
  const rows = await transactMirror(mirror, (tx, inbox) =>
    keep(tx, inbox, { mirror, chosen, vanished, fresh, renamed }),
  )
  const byPath = new Map(rows.map(folder => [folder.path, folder]))
  return chosen.flatMap(({ path, name, delimiter }) => {
    const folder = byPath.get(path)
    return folder ? [inMemory(folder, { name, delimiter })] : []
  })
}

/** Null where the mailbox is gone by now. */
export async function cursorsOf({ imap }: Pick<Mirror, 'imap'>, path: string): Promise<Cursors | null> {
  const status = await imap.status(path)
  return status && { uidValidity: Number(status.uidValidity ?? 0), uidNext: status.uidNext ?? 1 }
}

export const inMemory = (folder: RemoteFolder, shown: Pick<MirrorFolder, 'name' | 'delimiter'>): MirrorFolder => ({
  ...folder,
  ...shown,
  pendingFrom: folder.fetched_from,
  queue: [],
  claimed: new Set(),
})

export const newRemoteFolder = (
  now: Date,
  of: Pick<RemoteFolder, 'path' | 'role' | 'is_mirrored' | 'folder_id' | 'agreed_name'>,
  { uidValidity, uidNext }: Cursors,
): RemoteFolder => ({ id: newId(now), ...of, uid_validity: uidValidity, next_uid: uidNext, fetched_from: uidNext })

/**
 * Mail of a folder that vanished may be removed here, so a list alone does not make it so: one without an inbox is none, and a
 * folder that is not in it is asked for by name.
 */
async function listChosen({ imap }: Without, stored: readonly RemoteFolder[]) {
  const listed = await imap.list()
  const paths = new Set(listed.map(({ path }) => path))
  const chosen = chooseFolders(listed, new Set(stored.map(({ path }) => path)))
  if (!chosen.some(({ role }) => role === 'inbox')) throw new ProviderFault('failed', 'The mailbox has no inbox.')
  const open = new Set(chosen.map(({ path }) => path))
  const vanished: RemoteFolder[] = []
  for (const folder of stored) {
    if (open.has(folder.path)) continue
    if (paths.has(folder.path) || !(await imap.status(folder.path))) vanished.push(folder)
    else chosen.push(asBefore(folder, chosen[0]!.delimiter))
  }
  return { chosen, vanished }
}

const asBefore = ({ path, role, is_mirrored, agreed_name }: RemoteFolder, delimiter: string): ChosenFolder => ({
  path,
  delimiter,
  role,
  name: role ?? agreed_name ?? path,
  isMirrored: is_mirrored,
})

interface Keeping {
  mirror: Without
  chosen: readonly ChosenFolder[]
  vanished: readonly RemoteFolder[]
  fresh: readonly FreshFolder[]
  /** Ids of vanished ones, and what they became. */
  renamed: ReadonlyMap<string, FreshFolder>
}

async function keep(tx: Tx, inbox: LockedInbox, { mirror, chosen, vanished, fresh, renamed }: Keeping) {
  await updateRoleFolders(tx, inbox.id)
  let hasChanged = false
  for (const folder of vanished) {
    const now = renamed.get(folder.id)
    if (now) {
      hasChanged = (await follow(tx, inbox.id, { folder, now })) || hasChanged
      continue
    }
    const { messageIds } = await loseMessages(tx, mirror, { folderId: folder.id, from: 1, present: [] })
    await placeMessages(tx, inbox, messageIds)
  }
  const made = await settle(tx, inbox.id, { chosen, fresh })
  if (hasChanged || made > 0) recordFoldersChanged(tx, inbox)
  return listRemoteFolders(tx, inbox.id)
}

/** It is the same folder under another name. Answers whether one here was renamed. */
async function follow(tx: Tx, inboxId: string, { folder, now }: { folder: RemoteFolder; now: FreshFolder }) {
  const isOwn = folder.role === null && now.role === null && folder.folder_id !== null
  const before = isOwn ? (await listFoldersOf(tx, inboxId)).find(({ id }) => id === folder.folder_id) : undefined
  const name = before ? await renameFreely(tx, { inboxId, folderId: before.id, name: now.name }) : null
  await updateRemoteFolder(tx, { ...folder, path: now.path, agreed_name: name ?? folder.agreed_name })
  return name !== null && name !== before?.name
}

/** Each has a row, and a folder here if the inbox may have that many. Answers how many of those were made. */
async function settle(
  tx: Tx,
  inboxId: string,
  { chosen, fresh }: { chosen: readonly ChosenFolder[]; fresh: readonly FreshFolder[] },
): Promise<number> {
  const rows = await listRemoteFolders(tx, inboxId)
  const byPath = new Map(rows.map(row => [row.path, row]))
  const cursors = new Map(fresh.map(each => [each.path, each.cursors]))
  const open = chosen.filter(folder => {
    const row = byPath.get(folder.path)
    return row ? !isSettled(row, folder) : cursors.has(folder.path)
  })
  if (open.length === 0) return 0
  const system = (await findSystemFolders(tx, [inboxId])).get(inboxId)!
  const own = open.filter(({ role }) => role === null)
  const taken = new Set(rows.flatMap(({ folder_id }) => folder_id ?? []))
  const { found, made } = await ensureFolders(tx, { inboxId, names: own.map(({ name }) => name), taken })
  const locals = new Map(own.map(({ path }, at) => [path, found[at]!]))
  const added: RemoteFolder[] = []
  for (const { path, role, isMirrored: is_mirrored } of open) {
    const local = role === null ? (locals.get(path) ?? null) : null
    const folder_id = role === null ? (local?.id ?? null) : system[role]
    const of = { path, role, is_mirrored, folder_id, agreed_name: local?.name ?? null }
    const row = byPath.get(path)
    if (row) await updateRemoteFolder(tx, { id: row.id, ...of })
    else added.push(newRemoteFolder(tx.now, of, cursors.get(path)!))
  }
  await insertRemoteFolders(tx, inboxId, added)
  return made
}

/** One that was deleted here waits for the provider to follow: it is not made again. */
const isSettled = (row: RemoteFolder, { role, isMirrored }: ChosenFolder): boolean =>
  (row.folder_id !== null || (role === null && row.agreed_name !== null)) &&
  row.role === role &&
  row.is_mirrored === isMirrored
