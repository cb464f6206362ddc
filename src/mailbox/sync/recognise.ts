// Recognises messages of the provider that are here already: moved from another folder, in several folders at once, under a
// new UIDVALIDITY, or sent from here.
import type { Db } from '../../platform/db/database.ts'
import type { Head } from './head.ts'
import { listCandidates, listUnseenSent, type Candidate } from './message-queries.ts'
import type { MirrorFolder } from './mirror.ts'

export interface Recognised {
  messageId: string
  /** The row that it was lost under, which this one takes the place of. */
  lost: Pick<Candidate, 'remote_folder_id' | 'uid' | 'is_read'> | null
}

/** By UID. A message is recognised once in a folder: a second copy there is a message of its own. */
export async function recognise(
  db: Db,
  { inboxId, folder, heads }: { inboxId: string; folder: MirrorFolder; heads: readonly Head[] },
): Promise<Map<number, Recognised>> {
  const found = new Map<number, Recognised>()
  if (heads.length === 0) return found
  const taken = new Set<string>()
  for (const candidate of await listCandidates(db, { inboxId, folderId: folder.id, heads })) {
    const { uid } = heads[candidate.n - 1]!
    if (found.has(uid) || taken.has(candidate.message_id)) continue
    taken.add(candidate.message_id)
    found.set(uid, { messageId: candidate.message_id, lost: candidate.uid > 0 ? null : candidate })
  }
  if (folder.role === 'sent') await recogniseSent(db, inboxId, heads, { found, taken })
  return found
}

/** The copy that the provider puts into its folder of sent mail when we send through it. */
async function recogniseSent(
  db: Db,
  inboxId: string,
  heads: readonly Head[],
  { found, taken }: { found: Map<number, Recognised>; taken: Set<string> },
): Promise<void> {
  const asked = heads.flatMap(({ uid, messageId, identity }) =>
    messageId === null || found.has(uid) ? [] : [{ uid, messageId, identity }],
  )
  if (asked.length === 0) return
  const sent = new Map((await listUnseenSent(db, inboxId, asked)).map(row => [row.rfc_message_id, row.id]))
  for (const { uid, messageId } of asked) {
    const id = sent.get(messageId)
    if (id === undefined || taken.has(id)) continue
    taken.add(id)
    found.set(uid, { messageId: id, lost: null })
  }
}
