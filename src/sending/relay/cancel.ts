// Mail that waits to leave through a mailbox which is no longer connected: nothing may leave under another sender, so it is
// cancelled.
import type { Tx } from '../../platform/db/database.ts'
import { lockRelayed, recordUnsent } from '../queue/held.ts'
import { aboutOf } from '../queue/keys.ts'
import { DISCONNECTED } from './relays.ts'

/** In the transaction that disconnects. What is beyond, held or in flight is cancelled when it is attempted. */
const AT_ONCE = 1_000

export async function cancelRelayed(tx: Tx, inboxId: string): Promise<number> {
  const rows = await lockRelayed(tx, inboxId, AT_ONCE)
  if (rows.length === 0) return 0
  recordUnsent(tx, rows, 'cancelled')
  const data = { reason: DISCONNECTED, response: DISCONNECTED }
  for (const row of rows) tx.record({ type: 'cancelled', ...aboutOf(row), data })
  return rows.length
}
