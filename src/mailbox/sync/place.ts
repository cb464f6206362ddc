// Where a message belongs that the provider has moved. It stays where it is while the provider has it in that folder too,
// which is common where folders are labels. Blocked mail stays in spam here, wherever the provider has it.
import type { Tx } from '../../platform/db/database.ts'
import { listFoldersOf } from '../folders/find.ts'
import type { LockedInbox } from '../inboxes/lock.ts'
import { changeMessages } from '../messages/change.ts'
import { listStandings, type Standing } from './message-queries.ts'

/** What the provider changed wins over what was changed here in the meantime. */
export async function placeMessages(tx: Tx, inbox: LockedInbox, messageIds: readonly string[]): Promise<void> {
  const standings = Map.groupBy(await listStandings(tx, messageIds), each => each.message_id)
  const moves = [...standings].flatMap(([id, rows]) => {
    const to = destinationOf(rows)
    return to === null ? [] : [{ id, to }]
  })
  if (moves.length === 0) return
  const folders = new Map((await listFoldersOf(tx, inbox.id)).map(folder => [folder.id, folder]))
  for (const [to, moved] of Map.groupBy(moves, each => each.to)) {
    const folder = folders.get(to)
    const ids = moved.map(({ id }) => id)
    if (folder) await changeMessages(tx, inbox, ids, { kind: 'move', folder })
  }
}

/** Null: it stays. A folder that is only looked into counts where there is no other. */
function destinationOf(rows: readonly Standing[]): string | null {
  const { now_folder_id, now_key, is_blocked } = rows[0]!
  if (is_blocked && now_key === 'spam') return null
  const mirrored = rows.filter(({ is_mirrored }) => is_mirrored)
  const shown = mirrored.length > 0 ? mirrored : rows
  if (shown.some(({ folder_id }) => folder_id === now_folder_id)) return null
  return shown[0]!.folder_id
}
