// An approved mail that reached its first recipient is sent.
import type { Tx } from '../../platform/db/database.ts'
import { updateSent } from './queries.ts'

export async function markSent(tx: Tx, approvalIds: readonly string[]): Promise<void> {
  if (approvalIds.length > 0) await updateSent(tx, [...new Set(approvalIds)])
}
