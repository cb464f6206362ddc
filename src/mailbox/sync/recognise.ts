// Recognises messages of the provider that are here already: moved from another folder, in several folders at once, under a
// new UIDVALIDITY, or sent from here.
import type { Db } from '../../platform/db/database.ts'
import type { Head } from '../imap/head.ts'
import { listCandidates, listUnlinked, type Candidate } from './message-queries.ts'
import type { MirrorFolder } from './mirror.ts'

export interface Recognised {
  /** Null: it was removed here, and is to be removed there. */
  messageId: string | null
  /** The row that it was lost under, which this one takes the place of. */
  lost: Pick<Candidate, 'remote_folder_id' | 'uid'> | null
  /** The provider's read flag is taken over: it changed since both sides agreed, or they never did. */
  takesFlag: boolean
}

interface Recognising {
  inboxId: string
  folder: MirrorFolder
  heads: readonly Head[]
  /** They came while the mirror was there. */
  isNew: boolean
  /** Messages that others of the folder stand for. */
  claimed: ReadonlySet<string>
}

/** By UID. A message is recognised once in a folder: a second copy there is a message of its own. */
export async function recognise(
  db: Db,
  { inboxId, folder, heads, isNew, claimed }: Recognising,
): Promise<Map<number, Recognised>> {
  const found = new Map<number, Recognised>()
  if (heads.length === 0) return found
  const taken = new Set<string>(claimed)
  // One that comes in again is a new message, whatever became of the one before it.
  const removed = folder.role !== 'inbox' ? 'all' : isNew ? 'none' : 'lost in this folder'
  for (const candidate of await listCandidates(db, { inboxId, folderId: folder.id, heads, removed })) {
    const { uid, isRead } = heads[candidate.n - 1]!
    const name = candidate.message_id ?? `${candidate.remote_folder_id} ${candidate.uid}`
    if (found.has(uid) || taken.has(name)) continue
    taken.add(name)
    const isLost = candidate.uid <= 0
    const takesFlag = isLost && candidate.message_id !== null && candidate.is_read !== isRead
    found.set(uid, { messageId: candidate.message_id, lost: isLost ? candidate : null, takesFlag })
  }
  await recogniseUnlinked(db, { inboxId, folder, heads }, { found, taken })
  return found
}

/** What an earlier connection left here, and the copy that the provider keeps of what we send through it. */
async function recogniseUnlinked(
  db: Db,
  { inboxId, folder, heads }: Omit<Recognising, 'claimed' | 'isNew'>,
  { found, taken }: { found: Map<number, Recognised>; taken: Set<string> },
): Promise<void> {
  const asked = heads.flatMap(head =>
    head.messageId === null || found.has(head.uid) ? [] : [{ ...head, messageId: head.messageId }],
  )
  if (asked.length === 0) return
  for (const { n, id, direction } of await listUnlinked(db, {
    inboxId,
    heads: asked,
    isSent: folder.role === 'sent',
  })) {
    const { uid } = asked[n - 1]!
    if (found.has(uid) || taken.has(id)) continue
    taken.add(id)
    found.set(uid, { messageId: id, lost: null, takesFlag: direction === 'in' })
  }
}
