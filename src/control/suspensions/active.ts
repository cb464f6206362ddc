// The pauses in force, read inside somebody's transaction.
import type { Db } from '../../platform/db/database.ts'
import { listActiveOfAccounts, type ActiveSuspension } from './queries.ts'

export type { ActiveSuspension } from './queries.ts'

/** By account. An account without pauses has no entry. */
export async function activePauses(db: Db, accountIds: readonly string[]): Promise<Map<string, ActiveSuspension[]>> {
  const pauses = await listActiveOfAccounts(db, accountIds)
  return Map.groupBy(pauses, pause => pause.account_id)
}
