// What was done here goes to the provider: read flags, moves, the trash, removals for good. Nothing is queued: what differs
// from what both sides agreed on last is what is to be done, so a crash forgets nothing.
import { lockUnlessOnHold } from '../../identity/accounts/legal-hold.ts'
import type { Tx } from '../../platform/db/database.ts'
import { recordSynced } from '../connections/mirror.ts'
import { isRefusal } from '../imap/fault.ts'
import { checkFolder } from './check.ts'
import { openFolder } from './fetch.ts'
import { updateRoleFolders } from './folder-queries.ts'
import { listLocalChanges, type LocalChange } from './local-change-queries.ts'
import { deleteRemoteMessages, insertRemoteMessages, updateAgreedRead } from './message-queries.ts'
import { loseMessages, MIRROR, transactMirror, type Mirror, type MirrorFolder } from './mirror.ts'
import { FolderRefused, remoteFolderOf } from './store-folders.ts'

const CHANGES_MAX = 500
/** A person can change messages as fast as this pushes; then the others get their turn. */
const ROUNDS_MAX = 50

/** Of these messages, and of all that were removed; null: of all. Answers whether anything was pushed. */
export async function pushChanges(mirror: Mirror, messageIds: readonly string[] | null): Promise<boolean> {
  const asked = { inboxId: mirror.lease.inboxId, messageIds, limit: CHANGES_MAX }
  let hasPushed = false
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await transactMirror(mirror, (tx, inbox) => updateRoleFolders(tx, inbox.id))
    const changes = await listPushable(mirror, asked)
    const folders = mirror.folders.filter(({ id }) => changes.some(change => change.remote_folder_id === id))
    for (const folder of folders) {
      // What the provider changed in the meantime wins.
      await checkFolder(mirror, folder)
      const own = (await listPushable(mirror, asked)).filter(each => each.remote_folder_id === folder.id)
      if (own.length > 0) await pushFolder(mirror, folder, own)
    }
    hasPushed ||= folders.length > 0
    if (changes.length < CHANGES_MAX || folders.length === 0) break
  }
  return hasPushed
}

/** Without what the provider has refused in this session. */
async function listPushable(mirror: Mirror, asked: Parameters<typeof listLocalChanges>[1]) {
  // What was refused stands among the others, and must not take their places.
  const changes = await listLocalChanges(mirror.world.db, { ...asked, limit: asked.limit + mirror.refused.size })
  return changes.filter(change => !mirror.refused.has(wishOf(change))).slice(0, asked.limit)
}

/** What is to be there in the end: another wish for the same message is tried. */
const wishOf = ({ remote_folder_id, uid, message_id, now_read, now_folder_id }: LocalChange): string =>
  [remote_folder_id, uid, message_id === null, now_read, now_folder_id].join()

/** A right that is missing at the provider keeps nothing else from being mirrored: the change stays here alone. */
async function unlessRefused(mirror: Mirror, changes: readonly LocalChange[], push: () => Promise<void>) {
  if (changes.length === 0) return
  try {
    await push()
  } catch (err) {
    if (!isRefusal(err) && !(err instanceof FolderRefused)) throw err
    for (const change of changes) mirror.refused.add(wishOf(change))
    const { inboxId } = mirror.lease
    mirror.world.log.warn(
      { err, inbox_id: inboxId, changes: changes.length },
      'a provider refuses what was changed here',
    )
  }
}

async function pushFolder(mirror: Mirror, folder: MirrorFolder, changes: readonly LocalChange[]): Promise<void> {
  const kept = changes.filter(({ message_id }) => message_id !== null)
  const flagged = kept.filter(({ is_read, now_read }) => is_read !== now_read)
  await unlessRefused(mirror, flagged, () => pushFlags(mirror, folder, flagged))
  const moved = kept.filter(({ is_moved }) => is_moved)
  for (const [folderId, own] of Map.groupBy(moved, each => each.now_folder_id!)) {
    await unlessRefused(mirror, own, async () => {
      const target = await remoteFolderOf(mirror, folderId)
      if (target && target.id !== folder.id) await pushMove(mirror, { folder, target, moved: own })
    })
  }
  const removed = changes.filter(({ message_id }) => message_id === null)
  await unlessRefused(mirror, removed, () => pushRemoval(mirror, folder, removed))
}

async function pushFlags(mirror: Mirror, folder: MirrorFolder, changes: readonly LocalChange[]): Promise<void> {
  for (const isRead of [true, false]) {
    const uids = changes.filter(({ now_read }) => now_read === isRead).map(({ uid }) => uid)
    if (uids.length === 0) continue
    if (!(await openUnchanged(mirror, folder))) return
    await mirror.imap.markSeen(uids, isRead)
    await transactMirror(mirror, tx => updateAgreedRead(tx, folder.id, { uids, isRead }))
  }
}

/** False: it was numbered anew since its messages were listed, and their UIDs are of others now. */
async function openUnchanged(mirror: Mirror, folder: MirrorFolder): Promise<boolean> {
  const before = folder.uid_validity
  return (await openFolder(mirror, folder)).uidValidity === before
}

interface Move {
  folder: MirrorFolder
  target: MirrorFolder
  moved: readonly LocalChange[]
}

/** A provider that does not tell the new UIDs has the messages found again in the target, by what they are recognised by. */
async function pushMove(mirror: Mirror, { folder, target, moved }: Move): Promise<void> {
  if (!(await openUnchanged(mirror, folder))) return
  const told = await mirror.imap.move(
    moved.map(({ uid }) => uid),
    target.path,
  )
  const uids = told.uidValidity === target.uid_validity ? told.uids : new Map<number, number>()
  await transactMirror(mirror, tx => recordMove(tx, mirror, { folder, target, moved, uids }))
}

async function recordMove(
  tx: Tx,
  mirror: Mirror,
  { folder, target, moved, uids }: Move & { uids: ReadonlyMap<number, number> },
): Promise<void> {
  const told = moved.filter(({ uid }) => uids.has(uid))
  // As they are now: what was removed here since it was listed is to be removed in the target.
  const rows = await deleteRemoteMessages(tx, told)
  await insertRemoteMessages(
    tx,
    mirror.lease.inboxId,
    rows.map(row => ({ ...row, remote_folder_id: target.id, uid: uids.get(row.uid)! })),
  )
  for (const { uid } of moved) {
    if (!uids.has(uid)) await loseMessages(tx, mirror, { folderId: folder.id, from: uid, to: uid, present: [] })
  }
}

/** Where folders are labels, a message is gone only when it is removed from the trash. */
async function pushRemoval(mirror: Mirror, folder: MirrorFolder, removed: readonly LocalChange[]): Promise<void> {
  const trash = mirror.folders.find(({ role }) => role === 'trash')
  if (mirror.imap.hasLabels && trash && trash.id !== folder.id) {
    await pushMove(mirror, { folder, target: trash, moved: removed })
    const asked = { inboxId: mirror.lease.inboxId, messageIds: [], limit: CHANGES_MAX }
    const own = (await listPushable(mirror, asked)).filter(each => each.remote_folder_id === trash.id)
    if (own.length > 0) await pushRemoval(mirror, trash, own)
    return
  }
  if (!(await openUnchanged(mirror, folder)) || !(await mayRemove(mirror))) return
  await mirror.imap.remove(removed.map(({ uid }) => uid))
  await transactMirror(mirror, async tx => {
    await deleteRemoteMessages(tx, removed)
    await recordSynced(tx, mirror.lease, -removed.length)
  })
}

/** Asked again at the last moment: a legal hold may have come since the changes were listed. */
const mayRemove = ({ world, accountId }: Mirror): Promise<boolean> =>
  world.db.transact(MIRROR, tx => lockUnlessOnHold(tx, accountId))
