// The sandbox account that a newcomer finds after the first start: an account, a tenant and a key.
import { createAccount } from './identity/accounts/create.ts'
import { createTenant } from './identity/tenants/create.ts'
import { system } from './platform/db/actor.ts'
import { locks } from './platform/db/locks.ts'
import { sql } from './platform/db/sql.ts'
import type { World } from './platform/world.ts'

export interface Demo {
  accountName: string
  tenantId: string
  tenantName: string
  bearer: string
}

/** Null when the installation has an account already. Several processes starting together make one. */
export function createDemo(world: World): Promise<Demo | null> {
  const by = system('first start')
  return world.db.transact(by, async tx => {
    await tx.many(sql`select pg_advisory_xact_lock(${locks.demo})`)
    const { exists } = await tx.one<{ exists: boolean }>(sql`select exists (select from accounts) as exists`)
    if (exists) return null
    const { account, api_key } = await createAccount(world, by, { name: 'Sandbox', sandbox: true })
    const tenant = await createTenant(world, by, { accountId: account.id }, { external_id: 'acme', name: 'Acme' })
    return { accountName: account.name, tenantId: tenant.id, tenantName: tenant.name, bearer: api_key.secret }
  })
}
