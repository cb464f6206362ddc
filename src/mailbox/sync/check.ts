// What the provider changed in a folder since the last look: messages that left it and read flags. Two searches tell, on any
// server; no list of all messages is kept here.
import type { Tx } from '../../platform/db/database.ts'
import { rangesOf } from '../imap/session.ts'
import type { LockedInbox } from '../inboxes/lock.ts'
import { changeMessages } from '../messages/change.ts'
import { openFolder } from './fetch.ts'
import { countLive, listFlagChanges, listLiveUids, updateAgreedRead } from './message-queries.ts'
import { loseMessages, transactMirror, type Mirror, type MirrorFolder } from './mirror.ts'
import { placeMessages } from './place.ts'

/** Answers whether messages left it: they may be in another folder now. To be asked when what is new was fetched. */
export async function checkFolder(mirror: Mirror, folder: MirrorFolder): Promise<boolean> {
  const { exists } = await openFolder(mirror, folder)
  const live = await countLive(mirror.world.db, folder.id)
  if (live === 0) return false
  const isComplete = folder.is_mirrored && folder.fetched_from <= 1 && folder.pendingFrom <= 1
  const ranges = folder.is_mirrored
    ? [`${folder.fetched_from}:*`]
    : [...rangesOf(await listLiveUids(mirror.world.db, folder.id))]
  const unseen = await search(mirror, ranges, { isUnseen: true })
  // As many there as here: what is new was fetched, so they are the same.
  const present = isComplete && live === exists ? null : await search(mirror, ranges, { isUnseen: false })
  const from = folder.is_mirrored ? folder.fetched_from : 1
  return transactMirror(mirror, async (tx, inbox) => {
    const lost = present && (await loseMessages(tx, mirror, { folderId: folder.id, from, present }))
    await takeFlags(tx, { inbox, folder, from, unseen })
    if (lost && lost.messageIds.length > 0) await placeMessages(tx, inbox, lost.messageIds)
    return lost !== null && lost.count > 0
  })
}

async function search({ imap }: Mirror, ranges: readonly string[], { isUnseen }: { isUnseen: boolean }) {
  const found: number[] = []
  for (const range of ranges) for (const uid of await imap.search(range, { isUnseen })) found.push(uid)
  return found
}

interface Flags {
  inbox: LockedInbox
  folder: MirrorFolder
  from: number
  unseen: readonly number[]
}

async function takeFlags(tx: Tx, { inbox, folder, from, unseen }: Flags): Promise<void> {
  const changes = await listFlagChanges(tx, folder.id, { from, unseen })
  for (const isRead of [true, false]) {
    const own = changes.filter(each => each.is_read === isRead)
    if (own.length === 0) continue
    const ids = own.map(({ message_id }) => message_id)
    await updateAgreedRead(tx, folder.id, { uids: own.map(({ uid }) => uid), isRead })
    await changeMessages(tx, inbox, ids, { kind: 'read', isRead })
  }
}
