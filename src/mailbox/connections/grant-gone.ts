// The provider says that a grant is gone: a person took it back, changed the password, or it was not used for too long. From
// now on nobody tries, and somebody is told to connect the mailbox again.
import type { Tx } from '../../platform/db/database.ts'
import { raise } from '../../platform/journal/anomaly.ts'
import { changeProvider } from '../inboxes/change-provider.ts'
import { lockInboxes } from '../inboxes/lock.ts'
import { updateGrantGone, type ConnectionRow } from './queries.ts'

/** Told once, whoever finds it out first. */
export async function recordGrantGone(
  tx: Tx,
  { inbox_id: inboxId, account_id: accountId, tenant_id: tenantId, provider, address, generation }: ConnectionRow,
): Promise<void> {
  // Before the connection, as everywhere.
  await lockInboxes(tx, [inboxId])
  const error = 'The provider has ended the grant. Connect the mailbox again.'
  if (!(await updateGrantGone(tx, { inboxId, generation, error }))) return
  await changeProvider(tx, inboxId, provider)
  raise(tx, {
    kind: 'mailbox_disconnected',
    severity: 'critical',
    title: `The mailbox ${address} must be connected again: its provider has ended the grant.`,
    accountId,
    tenantId,
    facts: { inbox_id: inboxId, provider, address },
  })
}
