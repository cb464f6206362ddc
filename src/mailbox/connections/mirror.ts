// What a mirror writes of its connection: the lease of the worker that keeps its session, and how it stands, as its inbox shows
// it: the row, the event for the streams, and an alert where a person must act.
import type { Tx } from '../../platform/db/database.ts'
import { raise } from '../../platform/journal/anomaly.ts'
import { ownerOf } from '../inboxes/lock.ts'
import { presentConnection } from '../inboxes/present.ts'
import {
  updateEnded,
  updateGrantGone,
  updateProgress,
  type GoneGrant,
  type Lease,
  type ReportedConnection,
} from './mirror-queries.ts'

export {
  claimDueConnections,
  extendConnectionLeases,
  listLeasedConnections,
  releaseConnectionLeases,
  updateSynced as recordSynced,
  type DueConnection,
  type Lease,
} from './mirror-queries.ts'

/** History is still being fetched, or the mailbox is here. Told each time: the caller does so every few seconds. */
export async function reportProgress(
  tx: Tx,
  lease: Lease,
  progress: { state: 'syncing' | 'live'; total: number },
): Promise<boolean> {
  const connection = await updateProgress(tx, lease, progress)
  if (connection) recordUpdated(tx, connection)
  return connection !== null
}

/** The session is over, and due again then. */
export async function reportFailing(
  tx: Tx,
  lease: Lease,
  { error, dueAt, isRefused = false }: { error: string; dueAt: Date; isRefused?: boolean },
): Promise<boolean> {
  const connection = await updateEnded(tx, lease, { error: error.slice(0, ERROR_CHARS_MAX), dueAt, isRefused })
  if (connection && connection.was !== 'failing') recordUpdated(tx, connection)
  return connection !== null
}

/** The session ended for no fault of its own, and anybody may take it on. */
export const reportReleased = async (tx: Tx, lease: Lease): Promise<boolean> =>
  (await updateEnded(tx, lease, { error: null, dueAt: tx.now })) !== null

/** From the first process that learns of it, once for each grant. */
export async function reportGrantGone(tx: Tx, gone: GoneGrant): Promise<boolean> {
  const connection = await updateGrantGone(tx, { ...gone, error: gone.error.slice(0, ERROR_CHARS_MAX) })
  if (!connection) return false
  recordUpdated(tx, connection)
  raise(tx, {
    kind: 'mailbox_disconnected',
    severity: 'critical',
    title: `The mailbox ${connection.address} must be connected again: its provider no longer grants access.`,
    accountId: connection.account_id,
    tenantId: connection.tenant_id,
    facts: { inbox_id: connection.inbox_id, provider: connection.provider, address: connection.address },
  })
  return true
}

const ERROR_CHARS_MAX = 500

function recordUpdated(tx: Tx, connection: ReportedConnection): void {
  const data = { changed: ['connection'], connection: presentConnection(connection) }
  tx.record({ type: 'inbox.updated', ...ownerOf({ ...connection, id: connection.inbox_id }), data })
}
