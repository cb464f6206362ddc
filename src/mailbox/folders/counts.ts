// Counts of folders, kept by the transactions that change messages. They have locked the inbox, so that a count is at
// any time equal to a recount.
import type { Db, Tx } from '../../platform/db/database.ts'
import { listSystemFolders, updateFolderCounts } from './queries.ts'
import { SYSTEM_NAMES, type SystemName } from './system.ts'

export interface FolderDelta {
  folderId: string
  total: number
  unread: number
  blocked: number
}

/** Several deltas of one folder add up. */
export function addToFolders(tx: Tx, deltas: readonly FolderDelta[]): void {
  const sums = new Map<string, FolderDelta>()
  for (const { folderId, total, unread, blocked } of deltas) {
    const sum = sums.get(folderId) ?? { folderId, total: 0, unread: 0, blocked: 0 }
    sums.set(folderId, {
      folderId,
      total: sum.total + total,
      unread: sum.unread + unread,
      blocked: sum.blocked + blocked,
    })
  }
  const changed = [...sums.values()].filter(sum => sum.total !== 0 || sum.unread !== 0 || sum.blocked !== 0)
  if (changed.length > 0) updateFolderCounts(tx, changed)
}

export type SystemFolders = Record<SystemName, string>

/** Ids of the system folders by inbox. */
export async function findSystemFolders(db: Db, inboxIds: readonly string[]): Promise<Map<string, SystemFolders>> {
  const found = new Map<string, SystemFolders>()
  for (const { id, inbox_id, name_key } of await listSystemFolders(db, inboxIds, SYSTEM_NAMES)) {
    const folders = found.get(inbox_id) ?? ({} as SystemFolders)
    folders[name_key] = id
    found.set(inbox_id, folders)
  }
  return found
}

/** Ids of one system folder by inbox. */
export async function systemFoldersNamed(
  db: Db,
  inboxIds: readonly string[],
  name: SystemName,
): Promise<Map<string, string>> {
  const rows = await listSystemFolders(db, inboxIds, [name])
  return new Map(rows.map(({ id, inbox_id }) => [inbox_id, id]))
}

export const systemFolderOf = async (db: Db, inboxId: string, name: SystemName): Promise<string> =>
  (await systemFoldersNamed(db, [inboxId], name)).get(inboxId)!
