// An inbox as the API shows it.
import type { Inbox, Connection } from './inbox-schema.ts'
import { policyOf } from './policy.ts'
import type { StoredInbox } from './queries.ts'

export const presentInbox = (inbox: StoredInbox): Inbox => ({
  id: inbox.id,
  tenant_id: inbox.tenant_id,
  domain_id: inbox.domain_id,
  address: inbox.address,
  local_part: inbox.local_part,
  display_name: inbox.display_name,
  status: inbox.status,
  policy: policyOf(inbox.policy),
  metadata: inbox.metadata,
  provider: inbox.provider,
  connection: inbox.connection && presentConnection(inbox.connection),
  created_at: inbox.created_at.toISOString(),
})

/** As the inbox and the events of its stream show the mailbox elsewhere that it mirrors. */
export const presentConnection = (
  row: Omit<Connection, 'last_sync_at'> & { last_sync_at: Date | string | null },
): Connection => ({
  address: row.address,
  state: row.state,
  last_sync_at: row.last_sync_at && new Date(row.last_sync_at).toISOString(),
  messages_synced: row.messages_synced,
  messages_total: row.messages_total,
  error: row.error,
})
