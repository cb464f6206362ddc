// The sandbox account that a newcomer finds after the first start: an account, a tenant, a key and a domain.
import { createAccount, type NewAccount } from './identity/accounts/create.ts'
import { createDomain } from './identity/domains/create.ts'
import { createTenant } from './identity/tenants/create.ts'
import { system } from './platform/db/actor.ts'
import { locks } from './platform/db/locks.ts'
import { sql } from './platform/db/sql.ts'
import type { UntilAvailable } from './platform/db/wait.ts'
import type { World } from './platform/world.ts'

export interface Demo {
  accountName: string
  tenantId: string
  tenantName: string
  domain: string
  bearer: string
}

/**
 * Null when the installation has an account already. Several processes starting together make one. Where the database goes
 * away half-way it goes on from there: the key is known only here, and shown once.
 */
export function createDemo(world: World, untilAvailable: UntilAvailable): Promise<Demo | null> {
  const by = system('first start')
  const made: { account?: NewAccount; tenant?: { id: string; name: string }; domain?: { name: string } } = {}
  const create = () =>
    world.db.transact(by, async tx => {
      await tx.many(sql`select pg_advisory_xact_lock(${locks.demo})`)
      const { exists } = await tx.one<{ exists: boolean }>(sql`select exists (select from accounts) as exists`)
      if (exists && !made.account) return null
      const { account, api_key } = (made.account ??= await createAccount(world, by, { name: 'Sandbox', sandbox: true }))
      const reach = { accountId: account.id, tenantId: null, inboxId: null }
      const tenant = (made.tenant ??= await createTenant(world, by, reach, { external_id: 'acme', name: 'Acme' }))
      const name = `acme.${world.config.PLATFORM_DOMAIN}`
      const domain = (made.domain ??= await createDomain(world, by, { reach, tenantId: tenant.id, name }))
      return {
        accountName: account.name,
        tenantId: tenant.id,
        tenantName: tenant.name,
        domain: domain.name,
        bearer: api_key.secret,
      }
    })
  return untilAvailable(create)
}
