// A folder for what comes from elsewhere under a name that may be too long, unsafe or taken. The caller has locked the
// inbox.
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { EVERYTHING, FOLDERS_MAX } from './create.ts'
import type { Folder } from './find.ts'
import { CHARS_MAX, folderKey, UNSAFE } from './name.ts'
import { insertFolders, listFolders } from './queries.ts'

const UNSAFE_ALL = new RegExp(UNSAFE, 'gu')

interface WantedFolder {
  inboxId: string
  name: string
  /** Ids of folders that stand for something else already. */
  taken: ReadonlySet<string>
}

/** The folder of that name, or of the name and a number; made where there is none. Null: the inbox has too many. */
export async function ensureFolder(
  tx: Tx,
  { inboxId, name, taken }: WantedFolder,
): Promise<Pick<Folder, 'id' | 'name' | 'name_key'> | null> {
  const folders = await listFolders(tx, inboxId)
  const byKey = new Map(folders.map(folder => [folder.name_key, folder]))
  for (let n = 1; n <= FOLDERS_MAX; n++) {
    const wanted = safeName(name, n === 1 ? '' : ` ${n}`)
    const key = folderKey(wanted)
    const found = byKey.get(key)
    if (found && !found.is_system && !taken.has(found.id)) return found
    if (found || key === EVERYTHING) continue
    if (folders.filter(({ is_system }) => !is_system).length >= FOLDERS_MAX) return null
    const folder = { id: newId(tx.now), inbox_id: inboxId, name: wanted, name_key: key, is_system: false }
    await insertFolders(tx, [folder])
    return folder
  }
  return null
}

function safeName(given: string, suffix: string): string {
  const clean = given.replaceAll(UNSAFE_ALL, ' ').normalize('NFC').trim()
  const cut = Array.from(clean)
    .slice(0, CHARS_MAX - suffix.length)
    .join('')
    .trim()
  return `${cut === '' || cut === '.' || cut === '..' ? 'folder' : cut}${suffix}`
}
