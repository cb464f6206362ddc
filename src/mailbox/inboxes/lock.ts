// The lock of a mailbox. Counts, threads and folders of an inbox have no locks of their own: a transaction that changes them
// has locked this one.
import type { Tx } from '../../platform/db/database.ts'
import type { AuditDraft } from '../../platform/journal/append.ts'
import { addressesOf } from './addresses.ts'
import { listBusyInboxes, listFreeInboxesForUpdate, listInboxesForUpdate, type LockedRow } from './queries.ts'
import { policyOf, type Policy } from './policy.ts'

export interface LockedInbox extends Omit<LockedRow, 'policy' | 'connection'> {
  policy: Policy
  /** Its address, and that of the mailbox elsewhere that it mirrors. */
  ownAddresses: readonly string[]
}

/** Who an inbox is, and whose. */
export type InboxOwner = Pick<LockedInbox, 'id' | 'account_id' | 'tenant_id'>

/** The same, as events and threads say it. */
export const ownerOf = ({ id, account_id, tenant_id }: InboxOwner) => ({
  accountId: account_id,
  tenantId: tenant_id,
  inboxId: id,
})

/** Of the inbox, unless it names another target. */
export const auditIn = (
  tx: Tx,
  inbox: InboxOwner,
  entry: Omit<AuditDraft, 'accountId' | 'tenantId' | 'target'> & Partial<Pick<AuditDraft, 'target'>>,
): void =>
  tx.audit({
    accountId: inbox.account_id,
    tenantId: inbox.tenant_id,
    target: { type: 'inbox', id: inbox.id },
    ...entry,
  })

/** In the order of their ids, so that no two transactions wait for each other. Deleted ones are left out. */
export async function lockInboxes(tx: Tx, ids: readonly string[]): Promise<LockedInbox[]> {
  return (await listInboxesForUpdate(tx, ids)).map(lockedOf)
}

/** Without those that another transaction has locked. */
export async function lockFreeInboxes(tx: Tx, ids: readonly string[]): Promise<LockedInbox[]> {
  return (await listFreeInboxesForUpdate(tx, ids)).map(lockedOf)
}

/** Locks those that are free, deleted ones too; answers those that another transaction has locked, and waits for none. */
export async function lockUnlessBusy(tx: Tx, ids: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  if (ids.size === 0) return ids
  return new Set((await listBusyInboxes(tx, [...ids])).map(({ id }) => id))
}

const lockedOf = ({ connection, ...row }: LockedRow): LockedInbox => ({
  ...row,
  policy: policyOf(row.policy),
  ownAddresses: addressesOf({ ...row, connection }),
})
