// Every return of mail to the queue passes here, in the transaction that returns it: deferred, throttled, withheld by the
// pause check, lease given back or lapsed, released by a resume or by a person. What an active pause matches is held at once.
//
// The account's lock is shared until the commit. So a pause that does not see the row waiting, because we have not committed
// yet, is seen by us; and a purge takes all that waits.
import { activePauses, PausesByAccount, type ActiveSuspension } from '../../control/suspensions/active.ts'
import { lockAccountsShared } from '../../control/suspensions/locks.ts'
import { countHolds } from '../../control/suspensions/progress.ts'
import type { Tx } from '../../platform/db/database.ts'
import { factsOfMessages, updateHeld } from '../queue/held.ts'
import type { QueuedRow } from '../queue/keys.ts'
import { recordEvents } from './events.ts'

/** For rows that the transaction has made `queued` or `deferred`. Answers which of them are held now, and by what. */
export async function requeue<Row extends QueuedRow>(
  tx: Tx,
  rows: readonly Row[],
): Promise<ReadonlyMap<Row, ActiveSuspension>> {
  if (rows.length === 0) return new Map()
  const accounts = [...new Set(rows.map(row => row.account_id))].toSorted()
  // Sent without waiting for one another: the server takes them in their order, the lock first.
  const [, pauses] = await Promise.all([lockAccountsShared(tx, accounts), activePauses(tx, accounts)])
  const stopped = await stoppedBy(tx, rows, pauses)
  if (stopped.size === 0) return stopped
  updateHeld(
    tx,
    [...stopped].map(([row, pause]) => ({ ...row, suspension_id: pause.id })),
  )
  for (const [pause, held] of Map.groupBy(stopped.keys(), row => stopped.get(row)!)) {
    recordEvents(tx, 'held', held, pause)
    countHolds(tx, pause.id, held.length)
  }
  return stopped
}

/** For each row that some pause of its account matches, the broadest. */
export async function stoppedBy<Row extends QueuedRow>(
  tx: Tx,
  rows: readonly Row[],
  pauses: ReadonlyMap<string, readonly ActiveSuspension[]>,
): Promise<ReadonlyMap<Row, ActiveSuspension>> {
  const asked = rows.filter(row => pauses.has(row.account_id))
  if (asked.length === 0) return new Map()
  const facts = await factsOfMessages(tx, asked)
  const indexes = new PausesByAccount(pauses)
  const stopped = new Map<Row, ActiveSuspension>()
  for (const row of asked) {
    const ofMessage = facts.get(row.message_id)
    const index = indexes.of(row.account_id)
    const pause =
      ofMessage && index?.broadest({ ...ofMessage, tenantId: row.tenant_id, recipientDomain: row.recipient_domain })
    if (pause) stopped.set(row, pause)
  }
  return stopped
}
