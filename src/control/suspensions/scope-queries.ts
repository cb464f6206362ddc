// Looking up whose a scope is. Reads tables of the floor below.
import type { Db } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'

interface Owner {
  tenant_id: string | null
}

/** Revoked keys count: their mail may still be queued. */
const OWNERS = {
  tenant: sql`id as tenant_id from tenants`,
  credential: sql`tenant_id from smtp_credentials`,
  api_key: sql`tenant_id from api_keys`,
}

export const findOwnerOfId = (db: Db, accountId: string, scopeType: keyof typeof OWNERS, id: string) =>
  db.maybe<Owner>(sql`select ${OWNERS[scopeType]} where id = ${id} and account_id = ${accountId}`)

/** The owner is one tenant, unless several of the account have registered the name. */
export const findOwnerOfDomain = (db: Db, accountId: string, name: string): Promise<Owner | null> =>
  db.maybe<Owner>(sql`
    select case when count(*) = 1 then (min(tenant_id::text))::uuid end as tenant_id
    from domains where account_id = ${accountId} and name = ${name} having count(*) > 0`)

export const findSuspendMode = (db: Db, accountId: string): Promise<{ suspend_mode: 'hold' | 'reject' } | null> =>
  db.maybe(sql`select suspend_mode from accounts where id = ${accountId}`)
