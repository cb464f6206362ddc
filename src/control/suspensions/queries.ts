// All SQL over suspensions; the only writer of that table.
import type { Db } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'

export interface ActiveSuspension {
  id: string
  account_id: string
  scope_type: string
  scope_value: string
  queue_action: 'hold' | 'reject'
}

export const listActiveSuspensionsAnywhere = (db: Db): Promise<ActiveSuspension[]> =>
  db.many<ActiveSuspension>(sql`
    select id, account_id, scope_type, scope_value, queue_action from suspensions where status = 'active'`)

export const listActiveOfAccounts = (db: Db, accountIds: readonly string[]): Promise<ActiveSuspension[]> =>
  db.many<ActiveSuspension>(prepared`
    select id, account_id, scope_type, scope_value, queue_action
    from suspensions where status = 'active' and account_id = any(${accountIds}::uuid[])`)
