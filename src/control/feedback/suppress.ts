// Adding to the suppression lists and taking off them, inside somebody's transaction.
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { deleteOldBounce, insertSuppressions, listedAddress } from './queries.ts'
import type { Addressed } from './suppressed.ts'

type SuppressionReason = 'hard_bounce' | 'complaint' | 'unsubscribe' | 'manual'

export interface Suppression {
  accountId: string
  /** Null: for every tenant of the account. */
  tenantId: string | null
  address: string
  reason: SuppressionReason
  detail: string | null
  messageId: string | null
}

/**
 * An address that is listed already stays as it is, unless the new reason weighs more: what its owner has said must outlast
 * the removal of a bounce. Answers how many were added or changed.
 */
export async function suppress(tx: Tx, suppressions: readonly Suppression[]): Promise<number> {
  if (suppressions.length === 0) return 0
  return insertSuppressions(
    tx,
    suppressions.map(each => ({ ...each, id: newId(tx.now), address: listedAddress(each.address) })),
  )
}

interface OldBounce extends Addressed {
  /** Only one that is older than this. */
  before: Date
}

/** Complaints and wishes stay: only what was found out about an address is forgotten where it deserves another try. */
export const liftOldBounce = (tx: Tx, { address, ...rest }: OldBounce): Promise<number> =>
  deleteOldBounce(tx, { ...rest, address: listedAddress(address) })
