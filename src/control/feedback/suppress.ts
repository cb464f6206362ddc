// Adding to the suppression lists, inside somebody's transaction.
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { insertSuppressions } from './queries.ts'

export type SuppressionReason = 'hard_bounce' | 'complaint' | 'unsubscribe' | 'manual'

export interface Suppression {
  accountId: string
  /** Null: for every tenant of the account. */
  tenantId: string | null
  address: string
  reason: SuppressionReason
  detail: string | null
  messageId: string | null
}

/** An address that is listed already stays as it is. */
export async function suppress(tx: Tx, suppressions: readonly Suppression[]): Promise<void> {
  if (suppressions.length === 0) return
  await insertSuppressions(
    tx,
    suppressions.map(each => ({ ...each, id: newId(tx.now), address: each.address.toLowerCase() })),
  )
}
