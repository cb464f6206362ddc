// An inbox begins or ceases to mirror a mailbox elsewhere.
import type { Tx } from '../../platform/db/database.ts'
import type { Inbox } from './inbox-schema.ts'
import { presentInbox } from './present.ts'
import { updateInboxProvider } from './queries.ts'

/** The caller has locked the inbox and has changed its connection; who follows its stream is told. */
export async function changeProvider(tx: Tx, id: string, provider: Inbox['provider']): Promise<Inbox> {
  const stored = await updateInboxProvider(tx, id, provider)
  const inbox = presentInbox(stored)
  tx.record({
    type: 'inbox.updated',
    accountId: stored.account_id,
    tenantId: stored.tenant_id,
    inboxId: id,
    data: { changed: ['provider', 'connection'], provider, connection: inbox.connection },
  })
  return inbox
}
