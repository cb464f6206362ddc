// A batch of the provider's messages becomes messages of the inbox: messages, what they are known by and the cursor of the
// folder in one transaction. So a crash at any point neither loses nor doubles one.
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { recordSynced } from '../connections/mirror.ts'
import { fileMails, filingOf, type FilingTarget, type ReadArrival } from '../inbound/file.ts'
import type { LockedInbox } from '../inboxes/lock.ts'
import { changeMessages } from '../messages/change.ts'
import { findCorrespondents } from '../shield/correspondents.ts'
import { insertSources } from '../sources/store.ts'
import { updateCursor } from './folder-queries.ts'
import type { Head } from '../imap/head.ts'
import { ProviderFault } from '../imap/fault.ts'
import {
  deleteRemoteMessages,
  insertRemoteMessages,
  listKnownUids,
  listPresent,
  type RemoteMessage,
} from './message-queries.ts'
import { transactMirror, type Batch, type Mirror, type MirrorFolder } from './mirror.ts'
import { placeMessages } from './place.ts'
import { recognise, type Recognised } from './recognise.ts'
import { localFolderOf } from './store-folders.ts'

interface Readable {
  head: Head
  content: Buffer
  sourceId: string
  read: ReadArrival
}

/** Reads what was fetched and files it, the latter after the batch before it. */
export async function fileBatch(mirror: Mirror, batch: Batch, before: Promise<void> = Promise.resolve()) {
  try {
    const readable = await readBatch(mirror, batch)
    await before
    const linked = await transactMirror(mirror, (tx, inbox) => store(tx, { mirror, batch, inbox, readable }))
    for (const id of linked.foundAgain) mirror.foundAgain.add(id)
    if (readable.some(({ read }) => read.hasFiles)) mirror.world.wakeups.hint('attachments')
    const { folder, fetchedFrom, nextUid } = batch
    folder.fetched_from = Math.min(folder.fetched_from, fetchedFrom)
    folder.next_uid = Math.max(folder.next_uid, nextUid)
  } finally {
    for (const id of claimsOf(batch)) batch.folder.claimed.delete(id)
    batch.release()
  }
}

const claimsOf = ({ recognised }: Batch): string[] => [...recognised.values()].flatMap(each => each.messageId ?? [])

async function readBatch({ world, reader, accountId, provider }: Mirror, batch: Batch): Promise<Readable[]> {
  const now = world.clock.now()
  const mails = batch.heads.flatMap(head => {
    const content = batch.sources.get(head.uid)
    return content ? [{ head, content, sourceId: newId(now) }] : []
  })
  const read = await reader.readAll(
    accountId,
    mails.map(({ head: { receivedAt, size }, content, sourceId }) => ({
      sourceId,
      accountId,
      receivedAt,
      receiver: provider,
      content,
      size,
    })),
  )
  return mails.map((mail, at) => ({ ...mail, read: read[at]! }))
}

interface Storing {
  mirror: Mirror
  batch: Batch
  inbox: LockedInbox
  readable: readonly Readable[]
}

async function store(tx: Tx, { mirror, batch, inbox, readable }: Storing): Promise<Linked> {
  const { folder, uidValidity, nextUid, fetchedFrom } = batch
  const known = await listKnownUids(
    tx,
    folder.id,
    batch.heads.map(({ uid }) => uid),
  )
  const heads = batch.heads.filter(({ uid }) => !known.has(uid))
  const own = new Set(claimsOf(batch))
  const claimed = new Set([...folder.claimed].filter(id => !own.has(id)))
  const recognised = await recognise(tx, { inboxId: inbox.id, folder, heads, isNew: batch.isNew, claimed })
  await findRemoved(tx, batch, { heads, recognised })
  const linked = await link(tx, { folder, inbox, heads, recognised })
  const fresh = readable.filter(({ head: { uid } }) => !known.has(uid) && !recognised.has(uid))
  if (fresh.length > 0) await fileFresh(tx, { mirror, batch, inbox, readable: fresh })
  if (linked.moved.length > 0) await placeMessages(tx, inbox, linked.moved)
  const cursor = { uid_validity: uidValidity, next_uid: nextUid, fetched_from: fetchedFrom }
  const isSame = await updateCursor(tx, folder.id, cursor)
  if (!isSame) throw new ProviderFault('failed', 'The provider numbered a folder anew while it was read.')
  if (heads.length > 0) await recordSynced(tx, mirror.lease, fresh.length + linked.count)
  return linked
}

/**
 * What was recognised when it was fetched has no source. Where its message was removed here meanwhile, it is to be removed
 * there; where another copy stands for it by now, it has to be fetched after all.
 */
async function findRemoved(
  tx: Tx,
  batch: Batch,
  { heads, recognised }: { heads: readonly Head[]; recognised: Map<number, Recognised> },
): Promise<void> {
  const left = heads.filter(({ uid }) => !recognised.has(uid) && batch.recognised.has(uid))
  if (left.length === 0) return
  const before = left.map(({ uid }) => ({ uid, messageId: batch.recognised.get(uid)!.messageId }))
  const present = await listPresent(
    tx,
    before.flatMap(({ messageId }) => messageId ?? []),
  )
  for (const { uid, messageId } of before) {
    if (messageId !== null && present.has(messageId)) {
      throw new ProviderFault('failed', 'A message changed while it was read.')
    }
    recognised.set(uid, { messageId: null, lost: null, takesFlag: false })
  }
}

interface Linked {
  /** What the provider has moved, or has in one more folder. */
  moved: string[]
  /** What was lost, moved or numbered anew where it was; null for what was removed here. */
  foundAgain: (string | null)[]
  count: number
}

async function link(
  tx: Tx,
  { folder, inbox, heads, recognised }: Pick<Batch, 'folder' | 'heads' | 'recognised'> & { inbox: LockedInbox },
): Promise<Linked> {
  const found = heads.flatMap(head => {
    const match = recognised.get(head.uid)
    return match ? [{ head, ...match }] : []
  })
  if (found.length === 0) return { moved: [], foundAgain: [], count: 0 }
  await deleteRemoteMessages(
    tx,
    found.flatMap(({ lost }) => lost ?? []),
  )
  await insertRemoteMessages(
    tx,
    inbox.id,
    found.map(({ head, messageId }) => rowOf(folder, head, messageId)),
  )
  const changed = found.filter(({ takesFlag }) => takesFlag)
  for (const isRead of [true, false]) {
    const ids = changed.filter(({ head }) => head.isRead === isRead).flatMap(({ messageId }) => messageId ?? [])
    if (ids.length > 0) await changeMessages(tx, inbox, ids, { kind: 'read', isRead })
  }
  const moved = found.filter(({ lost }) => lost?.remote_folder_id !== folder.id)
  return {
    moved: moved.flatMap(({ messageId }) => messageId ?? []),
    foundAgain: found.filter(({ lost, messageId }) => lost || messageId === null).map(({ messageId }) => messageId),
    count: found.length,
  }
}

const rowOf = ({ id }: MirrorFolder, { uid, isRead, identity }: Head, messageId: string | null): RemoteMessage => ({
  remote_folder_id: id,
  uid,
  message_id: messageId,
  is_read: isRead,
  identity,
})

async function fileFresh(tx: Tx, { mirror, batch, inbox, readable }: Storing): Promise<void> {
  const { folder } = batch
  const local = await localFolderOf(tx, inbox, folder)
  insertSources(
    tx,
    readable.map(({ sourceId, content }) => ({ id: sourceId, content, headBytes: 0 })),
  )
  // Threads and the shield go by the address that the mail was for.
  const owner = { ...inbox, address: mirror.address }
  const correspondents = (await findCorrespondents(tx, [inbox.id])).get(inbox.id) ?? []
  const sorted = readable.toSorted((a, b) => a.head.receivedAt.getTime() - b.head.receivedAt.getTime())
  const filings = sorted.map(({ head, sourceId, read }) => {
    const arrival = { source_id: sourceId, received_at: noLater(head.receivedAt, tx.now), size: head.size }
    return filingOf({ arrival, read, inbox: owner, target: targetOf(mirror, batch, head, local) }, correspondents)
  })
  await fileMails(tx, filings)
  const rows = sorted.map(({ head }, at) => rowOf(folder, head, filings[at]!.id))
  await insertRemoteMessages(tx, inbox.id, rows)
}

/** A provider's clock may be ahead; a message of tomorrow would stand above all others until then. */
const noLater = (date: Date, now: Date): Date => (date > now ? now : date)

function targetOf(
  { connectedAt }: Mirror,
  { folder: { role }, isNew }: Batch,
  { isRead, receivedAt }: Head,
  local: { id: string; key: string },
): FilingTarget {
  const isSent = role === 'sent'
  // IMAP has dates to the second.
  const cameAfter = isNew || receivedAt.getTime() + 1_000 > connectedAt.getTime()
  const isReceived = role === 'inbox' || role === null
  return {
    folder: local,
    isRead,
    direction: isSent ? 'out' : 'in',
    status: isSent ? 'sent' : null,
    told: !cameAfter ? 'nothing' : isReceived ? 'mail' : 'thread',
  }
}
