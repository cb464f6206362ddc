// The accounts of the operator's own that the installation sends from and keeps its mail in: made when they are first needed.
// What sandbox accounts cause is sent by a sandbox account.
import { createAccountIn } from './identity/accounts/create.ts'
import { createDomain } from './identity/domains/create.ts'
import { createTenantIn } from './identity/tenants/create.ts'
import { system } from './platform/db/actor.ts'
import type { Db, Tx } from './platform/db/database.ts'
import { locks, takeLock } from './platform/db/locks.ts'
import { sql } from './platform/db/sql.ts'
import { Refusal } from './platform/refusal.ts'
import type { World } from './platform/world.ts'

interface Sender {
  account_id: string
  tenant_id: string
}

type Kind = 'live' | 'sandbox'

const maker = system('operator mail')

export interface OperatorAccounts {
  /** What the installation's own mail comes from. */
  domain: string
  /** Ready to send: made where it is not there yet. */
  sender(kind: Kind): Promise<Sender>
  /** Null: nothing has needed it so far. */
  known(kind: Kind): Promise<Sender | null>
}

export function operatorAccounts(world: World): OperatorAccounts {
  const domain = operatorDomain(world)
  const provide = onceAtATime((kind: Kind) => provideSender(world, kind))
  return {
    domain,
    sender: async kind => (await findReadySender(world.db, kind, domain)) ?? provide(kind),
    known: kind => findSender(world.db, kind),
  }
}

/** Callers that ask for the same meanwhile share the answer: each would keep a connection while it waits for the lock. */
function onceAtATime<Key, T>(make: (key: Key) => Promise<T>): (key: Key) => Promise<T> {
  const making = new Map<Key, Promise<T>>()
  return key => {
    const known = making.get(key)
    if (known) return known
    const made = make(key).finally(() => making.delete(key))
    making.set(key, made)
    return made
  }
}

const operatorDomain = ({ config }: World): string => `operator.${config.PLATFORM_DOMAIN}`

/** One that can send now: a live one needs its domain, which is another when the operator has moved the platform. */
const findReadySender = (db: Db, kind: Kind, domain: string): Promise<Sender | null> =>
  db.maybe<Sender>(sql`
    select account_id, tenant_id from operator_senders s
    where kind = ${kind} and (kind = 'sandbox' or exists (
      select from domains d where d.tenant_id = s.tenant_id and d.name = ${domain} and d.verified_at is not null))`)

/** What an earlier try has made is used again: every step finds what it would make. */
async function provideSender(world: World, kind: Kind): Promise<Sender> {
  const sender = await createSender(world, kind)
  // A sandbox needs no domain.
  if (kind === 'live') await provideDomain(world, sender)
  return sender
}

/** Several processes that need it together make one. */
const createSender = (world: World, kind: Kind): Promise<Sender> =>
  world.db.transact(maker, async tx => {
    await takeLock(tx, locks.operatorMail)
    const known = await findSender(tx, kind)
    if (known) return known
    const earlier = kind === 'live' ? await findEarlierSender(tx, operatorDomain(world)) : null
    const sender = earlier ?? (await makeSender(tx, kind))
    await tx.run(sql`
      insert into operator_senders (kind, account_id, tenant_id) values (${kind}, ${sender.account_id}, ${sender.tenant_id})`)
    return sender
  })

const findSender = (db: Db, kind: Kind): Promise<Sender | null> =>
  db.maybe<Sender>(sql`select account_id, tenant_id from operator_senders where kind = ${kind}`)

/** Of a version that did not write down which one it is. Nobody else can have had this name: it is reserved. */
const findEarlierSender = (tx: Tx, domain: string): Promise<Sender | null> =>
  tx.maybe<Sender>(sql`
    select d.account_id, d.tenant_id from domains d join tenants t on t.id = d.tenant_id
    where d.name = ${domain} and d.is_platform and d.verified_at is not null and t.external_id = 'operator'`)

/** In one transaction, so that a failure leaves no account behind. */
async function makeSender(tx: Tx, kind: Kind): Promise<Sender> {
  const isSandbox = kind === 'sandbox'
  const name = isSandbox ? 'Operator (sandbox)' : 'Operator'
  const { account } = await createAccountIn(tx, { name, sandbox: isSandbox })
  const tenant = await createTenantIn(tx, account.id, { external_id: 'operator', name })
  return { account_id: account.id, tenant_id: tenant.id }
}

async function provideDomain(world: World, { account_id: accountId, tenant_id: tenantId }: Sender): Promise<void> {
  const name = operatorDomain(world)
  const isReady = async (): Promise<boolean> => (await findReadySender(world.db, 'live', name)) !== null
  if (await isReady()) return
  const reach = { accountId, tenantId: null, inboxId: null }
  try {
    await createDomain(world, maker, { reach, tenantId, name, isOwn: true })
  } catch (error) {
    // Another process may have been quicker.
    if (!(error instanceof Refusal && error.code === 'conflict' && (await isReady()))) throw error
  }
}
