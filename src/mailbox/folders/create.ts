// Making and renaming custom folders.
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { requireInboxToChange } from '../inboxes/find.ts'
import type { Folder } from './contract.ts'
import { auditFolder, recordFoldersChanged, requireFolder } from './find.ts'
import { folderKey, readFolderName } from './name.ts'
import { presentFolder } from './present.ts'
import { countCustomFolders, findFolderByKey, insertFolders, updateFolderName } from './queries.ts'

/** A list without folder reads each of them once. */
export const FOLDERS_MAX = 500
/** In lists it stands for every folder. */
export const EVERYTHING = 'all'

export interface FolderOrder {
  reach: Reach
  inboxId: string
  name: string
}

export function createFolder(world: World, by: Actor, order: FolderOrder): Promise<Folder> {
  const name = readFolderName(order.name)
  return world.db.transact(by, async tx => {
    const inbox = await requireInboxToChange(tx, order.reach, order.inboxId)
    await requireFreeName(tx, inbox.id, name)
    if ((await countCustomFolders(tx, inbox.id)) >= FOLDERS_MAX) {
      throw refuse('conflict', `An inbox may have ${FOLDERS_MAX} folders of its own. Delete one first.`)
    }
    const folder = { id: newId(tx.now), inbox_id: inbox.id, name, name_key: folderKey(name), is_system: false }
    await insertFolders(tx, [folder])
    const shown = presentFolder({ ...folder, total: 0, unread: 0, blocked: 0, created_at: tx.now })
    auditFolder(tx, inbox, folder.id, { after: { inbox_id: inbox.id, name } })
    recordFoldersChanged(tx, inbox)
    return shown
  })
}

export function renameFolder(world: World, by: Actor, order: FolderOrder & { to: string }): Promise<Folder> {
  const name = readFolderName(order.to)
  return world.db.transact(by, async tx => {
    const inbox = await requireInboxToChange(tx, order.reach, order.inboxId)
    const folder = await requireFolder(tx, inbox.id, order.name)
    if (folder.is_system) throw refuse('conflict', 'A system folder keeps its name.')
    if (folder.name === name) return presentFolder(folder)
    // Another spelling of its own name is free.
    if (folderKey(name) !== folder.name_key) await requireFreeName(tx, inbox.id, name)
    const renamed = await updateFolderName(tx, { id: folder.id, name, name_key: folderKey(name) })
    auditFolder(tx, inbox, folder.id, {
      before: { inbox_id: inbox.id, name: folder.name },
      after: { inbox_id: inbox.id, name },
    })
    recordFoldersChanged(tx, inbox)
    return presentFolder(renamed)
  })
}

async function requireFreeName(tx: Tx, inboxId: string, name: string): Promise<void> {
  const taken = await findFolderByKey(tx, inboxId, folderKey(name))
  if (taken?.is_system) throw refuse('folder_exists', `${taken.name} is a system folder. Choose another name.`)
  if (taken) throw refuse('folder_exists', 'A folder with this name exists already.')
  if (folderKey(name) === EVERYTHING) throw refuse('folder_exists', 'all stands for every folder. Choose another name.')
}
