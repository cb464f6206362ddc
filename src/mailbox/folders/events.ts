// What the streams tell of folders: that an inbox has other ones now, or under other names.
import type { Tx } from '../../platform/db/database.ts'
import type { InboxOwner } from '../inboxes/lock.ts'

export function recordFoldersChanged(
  tx: Tx,
  { id: inboxId, account_id: accountId, tenant_id: tenantId }: InboxOwner,
): void {
  tx.record({ type: 'inbox.updated', accountId, tenantId, inboxId, data: { changed: ['folders'] } })
}
