// What the streams tell of folders: that an inbox has other ones now, or under other names.
import type { Tx } from '../../platform/db/database.ts'

interface Owner {
  id: string
  account_id: string
  tenant_id: string
}

export function recordFoldersChanged(tx: Tx, { id: inboxId, account_id: accountId, tenant_id: tenantId }: Owner): void {
  tx.record({ type: 'inbox.updated', accountId, tenantId, inboxId, data: { changed: ['folders'] } })
}
