// All SQL over suppressions; the only writer of that table.
import type { Db } from '../../platform/db/database.ts'
import { prepared } from '../../platform/db/sql.ts'
import type { Addressed } from './suppressed.ts'

/** Addresses are compared without regard to case: nobody runs two mailboxes that differ by it. */
export const listSuppressed = (
  db: Db,
  addressed: readonly Addressed[],
): Promise<{ tenant_id: string; address: string }[]> =>
  db.many(prepared`
    select distinct a.tenant_id, a.address
    from unnest(${addressed.map(each => each.accountId)}::uuid[], ${addressed.map(each => each.tenantId)}::uuid[],
      ${addressed.map(each => each.address)}::text[]) as a (account_id, tenant_id, address)
    join suppressions s on s.account_id = a.account_id and s.address = lower(a.address)
      and (s.tenant_id is null or s.tenant_id = a.tenant_id)`)
