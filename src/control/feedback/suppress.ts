// Adding to the suppression lists, inside somebody's transaction.
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { listedAddress } from './listed-address.ts'
import { insertSuppressions } from './queries.ts'

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
