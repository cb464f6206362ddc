// The sandbox account that a newcomer finds after the first start: an account, a tenant, a key, a domain and an
// inbox.
import { createAccountIn } from './identity/accounts/create.ts'
import { createDomainIn } from './identity/domains/create.ts'
import { setInboundIn } from './identity/domains/inbound.ts'
import { createTenantIn } from './identity/tenants/create.ts'
import { generateDkimKey } from './mail/dkim/sign.ts'
import { createInboxIn } from './mailbox/inboxes/create.ts'
import { system } from './platform/db/actor.ts'
import type { Tx } from './platform/db/database.ts'
import { locks, takeLock } from './platform/db/locks.ts'
import { sql } from './platform/db/sql.ts'
import type { UntilAvailable } from './platform/db/wait.ts'
import type { World } from './platform/world.ts'

export interface Demo {
  accountId: string
  accountName: string
  tenantId: string
  tenantName: string
  domain: string
  inboxId: string
  inboxAddress: string
  bearer: string
}

/**
 * Null when the installation has an account already. Several processes starting together make one. Where the database goes
 * away before the answer to a commit came, the next try finds out what became of it: the key is known only here, and shown
 * once.
 */
export async function createDemo(world: World, untilAvailable: UntilAvailable): Promise<Demo | null> {
  let made: Demo | null = null
  return untilAvailable(() =>
    world.db.transact(system('first start'), async tx => {
      await takeLock(tx, locks.demo)
      const first = await tx.maybe<{ id: string }>(sql`select id from accounts order by id limit 1`)
      if (first) return first.id === made?.accountId ? made : null
      return (made = await create(tx, world))
    }),
  )
}

async function create(tx: Tx, world: World): Promise<Demo> {
  const { account, api_key } = await createAccountIn(tx, { name: 'Sandbox', sandbox: true })
  const tenant = await createTenantIn(tx, account.id, { external_id: 'acme', name: 'Acme' })
  const reach = { accountId: account.id, tenantId: null, inboxId: null }
  const name = `acme.${world.config.PLATFORM_DOMAIN}`
  const domain = await createDomainIn(tx, world, { reach, tenantId: tenant.id, name, key: await generateDkimKey() })
  await setInboundIn(tx, world.config, { reach, id: domain.id, isEnabled: true })
  const inbox = await createInboxIn(tx, {
    accountId: account.id,
    tenantId: tenant.id,
    domainId: domain.id,
    address: `hello@${domain.name}`,
    displayName: tenant.name,
  })
  return {
    accountId: account.id,
    accountName: account.name,
    tenantId: tenant.id,
    tenantName: tenant.name,
    domain: domain.name,
    inboxId: inbox.id,
    inboxAddress: inbox.address,
    bearer: api_key.secret,
  }
}
