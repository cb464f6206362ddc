// What the streams tell of folders: that an inbox has other ones now, or under other names. And what the audit log does.
import type { Tx } from '../../platform/db/database.ts'
import { ownerOf, type InboxOwner } from '../inboxes/lock.ts'

export const recordFoldersChanged = (tx: Tx, inbox: InboxOwner): void =>
  tx.record({ type: 'inbox.updated', ...ownerOf(inbox), data: { changed: ['folders'] } })

export const auditFolder = (tx: Tx, inbox: InboxOwner, id: string, change: { before?: object; after?: object }): void =>
  tx.audit({ accountId: inbox.account_id, tenantId: inbox.tenant_id, target: { type: 'folder', id }, ...change })
