// An inbox as the API shows it.
import type { Inbox } from './inbox-schema.ts'
import { policyOf } from './policy.ts'
import { presentConnection } from './present-connection.ts'
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
