// What the streams tell of folders: that an inbox has other ones now, or under other names.
import type { Tx } from '../../platform/db/database.ts'
import { ownerOf, type InboxOwner } from '../inboxes/lock.ts'

export const recordFoldersChanged = (tx: Tx, inbox: InboxOwner): void =>
  tx.record({ type: 'inbox.updated', ...ownerOf(inbox), data: { changed: ['folders'] } })
