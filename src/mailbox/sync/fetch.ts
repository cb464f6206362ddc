// Fetches messages of the provider in batches that are bounded in number and bytes: what is new, and history from the newest
// down. What is here already is not fetched again.
import type { Head } from '../imap/head.ts'
import { type OpenMailbox, SOURCE_BYTES_MAX } from '../imap/session.ts'
import { updateFolderReset } from './folder-queries.ts'
import { loseMessages, transactMirror, type Batch, type Mirror, type MirrorFolder } from './mirror.ts'
import { recognise } from './recognise.ts'

const MESSAGES_MAX = 128
/** One message of more goes alone. */
const BYTES_MAX = 4 * 1024 * 1024
/** Of a search through the history: the rest is asked for again, so that it need not be kept. */
const QUEUE_MAX = 2_000

/** Opened, and under the UIDVALIDITY that its rows are of. When that is a new one, the folder is read again. */
export async function openFolder(mirror: Mirror, folder: MirrorFolder): Promise<OpenMailbox> {
  const open = await mirror.imap.open(folder.path)
  if (open.uidValidity === folder.uid_validity) return open
  const cursor = { uid_validity: open.uidValidity, next_uid: open.uidNext, fetched_from: open.uidNext }
  await transactMirror(mirror, async tx => {
    await loseMessages(tx, mirror, { folderId: folder.id, from: 1, present: [] })
    await updateFolderReset(tx, folder.id, cursor)
  })
  Object.assign(folder, cursor, { pendingFrom: open.uidNext, queue: [] })
  return open
}

/** What came since, oldest first, a batch at a time. */
export async function* fetchNew(mirror: Mirror, folder: MirrorFolder, signal: AbortSignal): AsyncGenerator<Batch> {
  await openFolder(mirror, folder)
  // A range that ends in "*" has the last message, even where that is older.
  const isNew = (uid: number): boolean => uid >= folder.next_uid
  const waiting = (await mirror.imap.search(`${folder.next_uid}:*`)).filter(isNew)
  while (waiting.length > 0) {
    const { heads, count } = await headsOf(mirror, waiting)
    const nextUid = waiting.splice(0, count).at(-1)! + 1
    // History that is fetched and not filed yet is not this batch's to count.
    yield await batchOf(mirror, folder, { heads, isNew: true, nextUid, fetchedFrom: folder.fetched_from, signal })
  }
}

export const hasHistory = ({ is_mirrored, pendingFrom }: MirrorFolder): boolean => is_mirrored && pendingFrom > 1

/** The newest messages that are not here. With the last of them the history is complete. */
export async function fetchHistory(mirror: Mirror, folder: MirrorFolder, signal: AbortSignal): Promise<Batch> {
  await openFolder(mirror, folder)
  if (folder.queue.length === 0) {
    const older = await mirror.imap.search(`1:${folder.pendingFrom - 1}`)
    folder.queue = older.slice(-QUEUE_MAX).toReversed()
  }
  const { heads, count } = await headsOf(mirror, folder.queue)
  const fetched = folder.queue.splice(0, count)
  folder.pendingFrom = fetched.at(-1) ?? 1
  const cursor = { nextUid: folder.next_uid, fetchedFrom: folder.pendingFrom }
  return batchOf(mirror, folder, { heads, isNew: false, ...cursor, signal })
}

/** Of as many of the UIDs, from the first on, as are fetched together. Those that are gone by now have none. */
async function headsOf({ imap }: Mirror, uids: readonly number[]): Promise<{ heads: Head[]; count: number }> {
  const asked = uids.slice(0, MESSAGES_MAX)
  const found = new Map((await imap.heads(asked)).map(head => [head.uid, head]))
  const heads: Head[] = []
  let bytes = 0
  let count = 0
  for (const uid of asked) {
    const head = found.get(uid)
    bytes += Math.min(head?.size ?? 0, SOURCE_BYTES_MAX)
    if (bytes > BYTES_MAX && heads.length > 0) break
    if (head) heads.push(head)
    count += 1
  }
  return { heads, count }
}

async function batchOf(
  { world, imap, reader, lease, accountId }: Mirror,
  folder: MirrorFolder,
  { signal, ...fetched }: Pick<Batch, 'heads' | 'isNew' | 'nextUid' | 'fetchedFrom'> & { signal: AbortSignal },
): Promise<Batch> {
  const { heads, isNew } = fetched
  const { claimed } = folder
  const recognised = await recognise(world.db, { inboxId: lease.inboxId, folder, heads, isNew, claimed })
  const wanted = heads.filter(({ uid }) => !recognised.has(uid))
  const bytes = wanted.reduce((sum, { size }) => sum + Math.min(size, SOURCE_BYTES_MAX), 0)
  const release = await reader.reserve(bytes, accountId, signal)
  try {
    const sources = wanted.length > 0 ? await sourcesOf(imap, wanted) : new Map<number, Buffer>()
    for (const { messageId } of recognised.values()) if (messageId !== null) claimed.add(messageId)
    return { folder, uidValidity: folder.uid_validity, ...fetched, recognised, sources, release }
  } catch (err) {
    release()
    throw err
  }
}

/** Without those that are gone by now. One that the provider has and does not hand out is not passed over: it is shown so. */
async function sourcesOf(imap: Mirror['imap'], wanted: readonly Head[]): Promise<Map<number, Buffer>> {
  const sources = await imap.sources(wanted)
  const missing = wanted.filter(({ uid }) => !sources.has(uid))
  if (missing.length === 0) return sources
  const present = new Set(await imap.search(missing.map(({ uid }) => uid).join(',')))
  const withheld = missing.filter(({ uid }) => present.has(uid))
  if (withheld.length === 0) return sources
  const again = await imap.sources(withheld)
  for (const head of withheld) sources.set(head.uid, again.get(head.uid) ?? placeholderOf(head))
  return sources
}

const placeholderOf = ({ messageId, receivedAt }: Head): Buffer =>
  Buffer.from(
    [
      ...(messageId === null ? [] : [`Message-ID: ${messageId}`]),
      `Date: ${receivedAt.toUTCString()}`,
      '',
      'The provider lists this message and did not hand it out.',
      '',
    ].join('\r\n'),
  )
