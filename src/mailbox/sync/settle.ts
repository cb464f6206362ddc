// What becomes of messages and folders that the provider has no longer. A message that is still in "all mail" was archived; the
// others were removed there, and are removed here for good, unless the account is under legal hold: then they stay.
import { lockUnlessOnHold } from '../../identity/accounts/legal-hold.ts'
import type { Tx } from '../../platform/db/database.ts'
import { recordSynced } from '../connections/mirror.ts'
import { systemFolderOf } from '../folders/counts.ts'
import { removeEmptyFolder } from '../folders/delete.ts'
import { recordFoldersChanged } from '../folders/find.ts'
import type { LockedInbox } from '../inboxes/lock.ts'
import { changeMessages, listIdsInFolder, removeMessages } from '../messages/change.ts'
import { openFolder } from './fetch.ts'
import { deleteRemoteFolder, listRemoteFolders, listUnusedFolders, type RemoteFolder } from './folder-queries.ts'
import {
  deleteRemoteMessages,
  deleteSettled,
  insertRemoteMessages,
  listKnownUids,
  listLost,
  listLostRemoved,
  type LostMessage,
} from './message-queries.ts'
import { transactMirror, type Mirror } from './mirror.ts'
import { placeMessages } from './place.ts'

/** Few enough that a mail which is filed meanwhile waits for some ten milliseconds. */
const BATCH_MAX = 100

/** Names of the messages that are lost now. Those that still are after a look into every folder may be settled. */
export async function listLostNow({ world, lease }: Mirror): Promise<ReadonlySet<string>> {
  const lost = await listLost(world.db, lease.inboxId, BATCH_MAX)
  const removed = await listLostRemoved(world.db, lease.inboxId, BATCH_MAX)
  return new Set([...lost, ...removed].map(nameOf))
}

const nameOf = ({ remote_folder_id, uid }: Pick<LostMessage, 'remote_folder_id' | 'uid'>): string =>
  `${remote_folder_id} ${uid}`

/** Answers whether there may be more. `before`: those that were lost before every folder was looked into. */
export async function settleLost(mirror: Mirror, before: ReadonlySet<string>): Promise<boolean> {
  if (before.size === 0) return false
  const lost = (await listLost(mirror.world.db, mirror.lease.inboxId, BATCH_MAX)).filter(each =>
    before.has(nameOf(each)),
  )
  const archived = await findArchived(mirror, lost)
  const gone = lost.filter(each => !archived.has(nameOf(each))).map(({ message_id }) => message_id)
  let mayRemove = false
  await transactMirror(
    mirror,
    async (tx, inbox) => {
      const found = lost.flatMap(each => archived.get(nameOf(each)) ?? [])
      await insertRemoteMessages(tx, inbox.id, found)
      if (found.length > 0) await recordSynced(tx, mirror.lease, found.length)
      await placeMessages(
        tx,
        inbox,
        found.map(({ message_id }) => message_id),
      )
      // Found again since they were listed: their rows say so.
      const still = new Set((await listLost(tx, inbox.id, BATCH_MAX * 2)).map(({ message_id }) => message_id))
      const ids = [...new Set(gone)].filter(id => still.has(id))
      if (ids.length > 0 && mayRemove) await removeMessages(tx, inbox, ids)
      // Under legal hold they stay, and stand for nothing at the provider.
      const unlinked = lost.filter(({ message_id }) => ids.includes(message_id))
      const removed = (await listLostRemoved(tx, inbox.id, BATCH_MAX)).filter(each => before.has(nameOf(each)))
      await deleteRemoteMessages(tx, [...unlinked, ...removed])
      await deleteSettled(tx, inbox.id)
    },
    async tx => (mayRemove = await lockUnlessOnHold(tx, mirror.accountId)),
  )
  if (gone.length > 0) mirror.world.wakeups.hint('removals')
  return lost.length > 0
}

const LEFT_MAX = 500

/**
 * Folders that the provider has no longer go here as well, once no message is known from them. What only this inbox has of
 * them goes to where the provider has it, or to the archive.
 */
export async function settleFolders(mirror: Mirror): Promise<void> {
  const { world, lease } = mirror
  const present = mirror.folders.map(({ id }) => id)
  for (const row of await listUnusedFolders(world.db, lease.inboxId, present)) {
    for (let isDone = false; !isDone;) {
      isDone = await transactMirror(mirror, (tx, inbox) => removeFolder(tx, inbox, row))
    }
  }
}

/** False: there is more to be moved out of it. */
async function removeFolder(tx: Tx, inbox: LockedInbox, { id }: RemoteFolder): Promise<boolean> {
  const rows = await listRemoteFolders(tx, inbox.id)
  const row = rows.find(each => each.id === id)
  const isElsewhere = rows.some(each => each.id !== id && each.folder_id === row?.folder_id)
  const local = row?.role === null && row.folder_id !== null && !isElsewhere ? row.folder_id : null
  if (local !== null) {
    const left = await listIdsInFolder(tx, local, LEFT_MAX)
    if (left.length > 0) {
      await placeMessages(tx, inbox, left)
      const still = new Set(await listIdsInFolder(tx, local, LEFT_MAX))
      const archive = await systemFolderOf(tx, inbox.id, 'archive')
      const folder = { id: archive, name: 'archive', name_key: 'archive' }
      const ids = left.filter(each => still.has(each))
      if (ids.length > 0) await changeMessages(tx, inbox, ids, { kind: 'move', folder })
      if (left.length === LEFT_MAX) return false
    }
    await removeEmptyFolder(tx, local)
    recordFoldersChanged(tx, inbox)
  }
  await deleteRemoteFolder(tx, id)
  return true
}

type Found = Omit<LostMessage, 'rfc_message_id'>

/** Those that are in the folder that is not mirrored but looked into, under their UID there. */
async function findArchived(mirror: Mirror, lost: readonly LostMessage[]): Promise<Map<string, Found>> {
  const found = new Map<string, Found>()
  const all = mirror.folders.find(({ is_mirrored }) => !is_mirrored)
  if (!all || lost.length === 0) return found
  await openFolder(mirror, all)
  const taken = new Set<number>()
  for (const each of lost) {
    if (each.rfc_message_id === null) continue
    const uids = await mirror.imap.searchMessageId(each.rfc_message_id)
    // Each copy there stands for one message here.
    const known = await listKnownUids(mirror.world.db, all.id, uids)
    const uid = uids.findLast(candidate => !known.has(candidate) && !taken.has(candidate))
    if (uid === undefined) continue
    taken.add(uid)
    found.set(nameOf(each), { ...each, remote_folder_id: all.id, uid })
  }
  return found
}
