// Mail that the installation itself sends, such as alerts: through the same gate as everybody's, from accounts of the
// operator's own that are made when they are first needed. What sandbox accounts cause is sent by a sandbox account.
import { liftOldBounce } from './control/feedback/lift.ts'
import { createAccountIn } from './identity/accounts/create.ts'
import { createDomain } from './identity/domains/create.ts'
import { createTenantIn } from './identity/tenants/create.ts'
import { system } from './platform/db/actor.ts'
import type { Db, Tx } from './platform/db/database.ts'
import { locks } from './platform/db/locks.ts'
import { sql } from './platform/db/sql.ts'
import { Refusal } from './platform/refusal.ts'
import type { World } from './platform/world.ts'
import type { Gate } from './sending/messages/gate.ts'
import { runAtOnce } from './platform/slices.ts'
import { prepareSubmission } from './sending/messages/prepare.ts'

interface OperatorMail {
  to: string
  subject: string
  text: string
  /** The same mail asked for twice is sent once. */
  key: string
  /** What becomes of the mail can be told by this. */
  metadata: Record<string, string>
  /** Nothing leaves the machine. */
  isSandbox: boolean
}

interface Sender {
  account_id: string
  tenant_id: string
}

type Kind = 'live' | 'sandbox'

const maker = system('operator mail')
const by = { ...maker, action: 'message.send' }
/** After this long an address that bounced is tried once more: mailboxes fill and empty, and people repair their domains. */
const BOUNCE_MS = 24 * 3_600_000

/** Suppressed: the address has bounced lately or complained, and nothing was sent. */
export function operatorMail(world: World, gate: Gate): (mail: OperatorMail) => Promise<'sent' | 'suppressed'> {
  const domain = operatorDomain(world)
  const from = `Sluice <alerts@${domain}>`
  const senderOf = onceAtATime((kind: Kind) => provideSender(world, kind))
  return async ({ to, subject, text, key, metadata, isSandbox }) => {
    const kind = isSandbox ? 'sandbox' : 'live'
    const sender = (await findReadySender(world.db, kind, domain)) ?? (await senderOf(kind))
    const { account_id: accountId, tenant_id: tenantId } = sender
    const before = new Date(world.clock.now().getTime() - BOUNCE_MS)
    await world.db.transact(by, tx => liftOldBounce(tx, { accountId, tenantId, address: to, before }))
    const body = { from, to: [to], subject, text, metadata }
    const order = { body, accountId, tenantId, apiKeyId: null, idempotencyKey: key, now: world.clock.now(), by }
    try {
      const { suppressed } = await gate.submit(runAtOnce(prepareSubmission({ ...order, publicUrl: '' })))
      return suppressed > 0 ? 'suppressed' : 'sent'
    } catch (error) {
      // An earlier version sent it, in other words.
      if (error instanceof Refusal && error.code === 'idempotency_conflict') return 'sent'
      throw error
    }
  }
}

/** Callers that ask for the same meanwhile share the answer: each would hold a connection while it waits for the lock. */
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
    await tx.many(sql`select pg_advisory_xact_lock(${locks.operatorMail})`)
    const known = await findSender(tx, kind)
    if (known) return known
    const earlier = kind === 'live' ? await findEarlierSender(tx, operatorDomain(world)) : null
    const sender = earlier ?? (await makeSender(tx, kind))
    await tx.run(sql`
      insert into operator_senders (kind, account_id, tenant_id) values (${kind}, ${sender.account_id}, ${sender.tenant_id})`)
    return sender
  })

const findSender = (tx: Tx, kind: Kind): Promise<Sender | null> =>
  tx.maybe<Sender>(sql`select account_id, tenant_id from operator_senders where kind = ${kind}`)

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
