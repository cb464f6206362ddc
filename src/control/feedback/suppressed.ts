// Who must not be written to: the tenant's own entries and those of the whole account.
import type { Db } from '../../platform/db/database.ts'
import { listSuppressed } from './queries.ts'

export interface Addressed {
  accountId: string
  tenantId: string
  address: string
}

/** `tenant address` of every pair that is suppressed. */
export async function suppressedAmong(db: Db, addressed: readonly Addressed[]): Promise<Set<string>> {
  const rows = await listSuppressed(db, addressed)
  return new Set(rows.map(row => `${row.tenant_id} ${row.address}`))
}
