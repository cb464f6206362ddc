// Mail that the installation itself sends, such as alerts: through the same gate as everybody's, from an account of the
// operator's own that is made when it is first needed.
import { createAccount } from './identity/accounts/create.ts'
import { createDomain } from './identity/domains/create.ts'
import { createTenant } from './identity/tenants/create.ts'
import { system } from './platform/db/actor.ts'
import { locks } from './platform/db/locks.ts'
import { sql } from './platform/db/sql.ts'
import type { World } from './platform/world.ts'
import type { Gate } from './sending/messages/gate.ts'
import { runAtOnce } from './platform/slices.ts'
import { prepareSubmission } from './sending/messages/prepare.ts'

export interface OperatorMail {
  to: string
  subject: string
  text: string
  /** The same mail asked for twice is sent once. */
  key: string
}

interface Sender {
  account_id: string
  tenant_id: string
}

const by = { ...system('operator mail'), action: 'message.send' }

export function operatorMail(world: World, gate: Gate): (mail: OperatorMail) => Promise<void> {
  const domain = operatorDomain(world)
  return async ({ to, subject, text, key }) => {
    const sender = (await findSender(world, domain)) ?? (await createSender(world, domain))
    const body = { from: `Sluice <alerts@${domain}>`, to: [to], subject, text }
    const { account_id: accountId, tenant_id: tenantId } = sender
    const order = { body, accountId, tenantId, apiKeyId: null, idempotencyKey: key, now: world.clock.now(), by }
    const { suppressed } = await gate.submit(runAtOnce(prepareSubmission({ ...order, publicUrl: '' })))
    if (suppressed > 0) throw new Error('This address has bounced or complained before and is no longer written to.')
  }
}

const operatorDomain = ({ config }: World): string => `operator.${config.PLATFORM_DOMAIN}`

const findSender = ({ db }: World, domain: string): Promise<Sender | null> =>
  db.maybe<Sender>(sql`select account_id, tenant_id from domains where name = ${domain} and verified_at is not null`)

/** Several processes that need it together make one. */
const createSender = (world: World, domain: string): Promise<Sender> =>
  world.db.transact(by, async tx => {
    await tx.many(sql`select pg_advisory_xact_lock(${locks.operatorMail})`)
    const known = await findSender(world, domain)
    if (known) return known
    const maker = system('operator mail')
    const { account } = await createAccount(world, maker, { name: 'Operator' })
    const reach = { accountId: account.id, tenantId: null, inboxId: null }
    const tenant = await createTenant(world, maker, reach, { external_id: 'operator', name: 'Operator' })
    await createDomain(world, maker, { reach, tenantId: tenant.id, name: domain, isOwn: true })
    return { account_id: account.id, tenant_id: tenant.id }
  })
