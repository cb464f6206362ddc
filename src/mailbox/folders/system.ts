// The five folders that every inbox has from the start.
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { insertFolders } from './queries.ts'

/** In the order they are listed. */
export const SYSTEM_NAMES = ['inbox', 'sent', 'archive', 'spam', 'trash'] as const
export type SystemName = (typeof SYSTEM_NAMES)[number]

export const createSystemFolders = (tx: Tx, inboxId: string): Promise<void> =>
  insertFolders(
    tx,
    SYSTEM_NAMES.map(name => ({ id: newId(tx.now), inbox_id: inboxId, name, name_key: name, is_system: true })),
  )

/** With the inbox itself, when its messages are gone. */
export { deleteFoldersOfInbox as removeFoldersOfInbox } from './queries.ts'
