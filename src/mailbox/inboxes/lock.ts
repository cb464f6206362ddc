// The lock of a mailbox. Counts, threads and folders of an inbox have no locks of their own: a transaction that changes them
// has locked this one.
import type { Tx } from '../../platform/db/database.ts'
import { addressesOf } from './addresses.ts'
import { listFreeInboxesForUpdate, listInboxesForUpdate, type LockedRow } from './queries.ts'
import { policyOf, type Policy } from './policy.ts'

export interface LockedInbox {
  id: string
  account_id: string
  tenant_id: string
  address: string
  status: 'active' | 'paused'
  policy: Policy
  provider: 'native' | 'google' | 'microsoft'
  /** Its address, and that of the mailbox elsewhere that it mirrors. */
  ownAddresses: readonly string[]
}

/** In the order of their ids, so that no two transactions wait for each other. Deleted ones are left out. */
export async function lockInboxes(tx: Tx, ids: readonly string[]): Promise<LockedInbox[]> {
  return (await listInboxesForUpdate(tx, ids)).map(lockedOf)
}

/** Without those that another transaction has locked. */
export async function lockFreeInboxes(tx: Tx, ids: readonly string[]): Promise<LockedInbox[]> {
  return (await listFreeInboxesForUpdate(tx, ids)).map(lockedOf)
}

const lockedOf = ({ connection, ...row }: LockedRow): LockedInbox => ({
  ...row,
  policy: policyOf(row.policy),
  ownAddresses: addressesOf({ ...row, connection }),
})
