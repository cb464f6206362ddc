// Folders for what comes from elsewhere under names that may be too long, unsafe or taken. The caller has locked the
// inbox.
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { EVERYTHING, FOLDERS_MAX } from './create.ts'
import type { Folder } from './find.ts'
import { CHARS_MAX, folderKey, UNSAFE } from './name.ts'
import { insertFolders, listFolders, updateFolderName } from './queries.ts'

const UNSAFE_ALL = new RegExp(UNSAFE, 'gu')

interface WantedFolders {
  inboxId: string
  names: readonly string[]
  /** Ids of folders that stand for something else already. */
  taken: ReadonlySet<string>
}

type Ensured = Pick<Folder, 'id' | 'name' | 'name_key'>

/**
 * In the order of the names: the folder of that name, or of the name and a number; made where there is none. Null: the inbox
 * has too many.
 */
export async function ensureFolders(
  tx: Tx,
  { inboxId, names, taken }: WantedFolders,
): Promise<{ found: (Ensured | null)[]; made: number }> {
  const folders = await listFolders(tx, inboxId)
  const byKey = new Map<string, Ensured & { is_system: boolean }>(folders.map(folder => [folder.name_key, folder]))
  const used = new Set(taken)
  const made: Parameters<typeof insertFolders>[1][number][] = []
  let own = folders.filter(({ is_system }) => !is_system).length
  const found = names.map(given => {
    for (const [name, key] of namesFor(given)) {
      const there = byKey.get(key)
      if (there && (there.is_system || used.has(there.id))) continue
      if (!there && own >= FOLDERS_MAX) return null
      const folder = there ?? { id: newId(tx.now), inbox_id: inboxId, name, name_key: key, is_system: false }
      if (!there) made.push(folder as (typeof made)[number])
      if (!there) own += 1
      byKey.set(key, folder)
      used.add(folder.id)
      return folder
    }
    return null
  })
  if (made.length > 0) await insertFolders(tx, made)
  return { found, made: made.length }
}

/** Calls it by that name, or by the name and a number where another folder has it. Answers its name from now on. */
export async function renameFreely(
  tx: Tx,
  { inboxId, folderId, name: given }: { inboxId: string; folderId: string; name: string },
): Promise<string | null> {
  const folders = await listFolders(tx, inboxId)
  const others = new Set(folders.filter(({ id }) => id !== folderId).map(({ name_key }) => name_key))
  for (const [name, name_key] of namesFor(given)) {
    if (others.has(name_key)) continue
    await updateFolderName(tx, { id: folderId, name, name_key })
    return name
  }
  return null
}

/** With their keys: the name itself, then with a number. */
function* namesFor(given: string): Generator<[name: string, key: string]> {
  for (let n = 1; n <= FOLDERS_MAX * 2; n++) {
    const name = safeName(given, n === 1 ? '' : ` ${n}`)
    const key = folderKey(name)
    if (key !== EVERYTHING) yield [name, key]
  }
}

function safeName(given: string, suffix: string): string {
  const clean = given.replaceAll(UNSAFE_ALL, ' ').normalize('NFC').trim()
  const cut = Array.from(clean)
    .slice(0, CHARS_MAX - suffix.length)
    .join('')
    .trim()
  return `${folderKey(cut) === '' || cut === '.' || cut === '..' ? 'folder' : cut}${suffix}`
}
