// The lock of a mailbox. Counts, threads and folders of an inbox have no locks of their own: a transaction that changes them
// has locked this one.
import type { Tx } from '../../platform/db/database.ts'
import { listFreeInboxesForUpdate, listInboxesForUpdate } from './queries.ts'
import { policyOf, type Policy } from './policy.ts'

export interface LockedInbox {
  id: string
  account_id: string
  tenant_id: string
  address: string
  status: 'active' | 'paused'
  policy: Policy
  provider: 'native' | 'google' | 'microsoft'
  /** The mailbox elsewhere that it mirrors. */
  connection: { address: string } | null
}

/** In the order of their ids, so that no two transactions wait for each other. Deleted ones are left out. */
export async function lockInboxes(tx: Tx, ids: readonly string[]): Promise<LockedInbox[]> {
  const rows = await listInboxesForUpdate(tx, ids)
  return rows.map(row => ({ ...row, policy: policyOf(row.policy) }))
}

/** Without those that another transaction has locked. */
export async function lockFreeInboxes(tx: Tx, ids: readonly string[]): Promise<LockedInbox[]> {
  const rows = await listFreeInboxesForUpdate(tx, ids)
  return rows.map(row => ({ ...row, policy: policyOf(row.policy) }))
}
