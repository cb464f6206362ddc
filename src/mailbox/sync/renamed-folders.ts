// Recognises a folder that the provider has under another name. IMAP does not tell of it: one folder is gone and another one
// there. It is the same when it has the same UIDVALIDITY and the same messages under the same UIDs.
import { folderKey } from '../folders/name.ts'
import { listFoldersOf } from '../folders/find.ts'
import type { RemoteFolder } from './folder-queries.ts'
import type { FreshFolder } from './load-folders.ts'
import { listNewestLive } from './message-queries.ts'
import type { Mirror } from './mirror.ts'

const SAMPLE_MAX = 10
/** A server that numbers all its folders alike would have each compared with each. The others are found by their messages. */
const COMPARISONS_MAX = 1_000

/** What each of the vanished folders became, by its id. One that was empty is not recognised, unless it was renamed here. */
export async function findRenamed(
  mirror: Omit<Mirror, 'folders'>,
  vanished: readonly RemoteFolder[],
  fresh: readonly FreshFolder[],
): Promise<Map<string, FreshFolder>> {
  const renamed = new Map<string, FreshFolder>()
  if (vanished.length === 0 || fresh.length === 0) return renamed
  const { db } = mirror.world
  const names = new Map((await listFoldersOf(db, mirror.lease.inboxId)).map(({ id, name_key }) => [id, name_key]))
  const left = new Set(fresh)
  let comparisons = 0
  for (const folder of vanished) {
    const sample = await listNewestLive(db, folder.id, SAMPLE_MAX)
    const name = names.get(folder.folder_id ?? '')
    for (const candidate of likely(folder, left)) {
      if (sample.length > 0 && ++comparisons > COMPARISONS_MAX) return renamed
      const isSame =
        sample.length === 0 ? folderKey(candidate.name) === name : await hasAll(mirror, candidate.path, sample)
      if (!isSame) continue
      renamed.set(folder.id, candidate)
      left.delete(candidate)
      break
    }
  }
  return renamed
}

/** First those whose last level is the same, as below a folder that was renamed. */
function likely({ path, uid_validity, next_uid }: RemoteFolder, fresh: ReadonlySet<FreshFolder>): FreshFolder[] {
  const isBelow = (each: FreshFolder): boolean =>
    lastLevel(each.path, each.delimiter) === lastLevel(path, each.delimiter)
  return [...fresh]
    .filter(({ cursors }) => cursors.uidValidity === uid_validity && cursors.uidNext >= next_uid)
    .toSorted((a, b) => Number(isBelow(b)) - Number(isBelow(a)))
}

const lastLevel = (path: string, delimiter: string): string =>
  delimiter === '' ? path : path.slice(path.lastIndexOf(delimiter) + 1)

/** Those that were removed meanwhile are not missed, as long as one is left. */
async function hasAll(
  { imap }: Pick<Mirror, 'imap'>,
  path: string,
  sample: readonly { uid: number; identity: Buffer }[],
): Promise<boolean> {
  await imap.open(path)
  const heads = new Map((await imap.heads(sample.map(({ uid }) => uid))).map(head => [head.uid, head.identity]))
  const found = sample.filter(({ uid }) => heads.has(uid))
  return found.length > 0 && found.every(({ uid, identity }) => heads.get(uid)!.equals(identity))
}
