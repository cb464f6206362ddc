// Look-ups made before anybody is known, so none of them can be restricted to a reach.
import type { Db } from '../../platform/db/database.ts'
import { isAmong, prepared, sql } from '../../platform/db/sql.ts'
import type { Scope } from '../../platform/principal.ts'

export interface KeyRow {
  id: string
  account_id: string
  tenant_id: string | null
  inbox_id: string | null
  name: string
  prefix: string
  secret_hash: Buffer
  scopes: Scope[]
  allowed_cidrs: string[]
  expires_at: Date | null
  revoked_at: Date | null
}

export const listKeysByPrefixAnywhere = (db: Db, prefixes: string[]): Promise<KeyRow[]> =>
  db.many<KeyRow>(prepared`
    select id, account_id, tenant_id, inbox_id, name, prefix, secret_hash, scopes, allowed_cidrs, expires_at, revoked_at
    from api_keys where ${isAmong(sql`prefix`, prefixes)}`)
