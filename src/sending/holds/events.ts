// What the journal says of held mail: one event per recipient, naming the pause.
import { scopeName, type PauseScope } from '../../control/suspensions/scopes.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { HeldRow } from '../queue/held.ts'

export function recordEvents(
  tx: Tx,
  type: 'held' | 'released' | 'cancelled' | 'expired',
  rows: readonly HeldRow[],
  pause: PauseScope & { account_id: string },
): void {
  const named = { suspension_id: pause.id, scope: scopeName(pause) }
  const data = type === 'expired' ? { reason: 'held_too_long', ...named } : named
  const { account_id: accountId } = pause
  for (const { tenant_id: tenantId, message_id: messageId, recipient } of rows) {
    tx.record({ type, accountId, tenantId, messageId, recipient, data })
  }
}
