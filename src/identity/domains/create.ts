// Registering a domain: its name, its DKIM key pair, and for names of the installation itself the verification.
import type { DkimKey } from '../../mail/dkim/sign.ts'
import { normaliseDomain } from '../../mail/address/address.ts'
import type { Config } from '../../platform/config.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { isUniqueViolation } from '../../platform/db/errors.ts'
import { locks, takeLock } from '../../platform/db/locks.ts'
import { newId } from '../../platform/ids.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { requireTenantInReach } from '../tenants/find.ts'
import type { Domain } from './contract.ts'
import { keyGenerator } from './generate-key.ts'
import { publishedFindings } from './look-up.ts'
import { presentDomain, summariseDomain } from './present.ts'
import { findNameAboveAnywhere, findNameBelowAnywhere, insertDomain } from './queries.ts'
import { isReservedName } from './reserved-names.ts'
import { keyRow, type StoredDomain } from './stored-domain.ts'

interface DomainOrder {
  reach: Reach
  tenantId: string
  name: string
  /** Asked for by the installation itself, so that its own names are no obstacle. */
  isOwn?: boolean
}

/** One for the whole process: all accounts share its cores. */
const generateKey = keyGenerator()

export async function createDomain(world: World, by: Actor, order: DomainOrder): Promise<Domain> {
  const name = readName(world.config, order)
  await requireTenantInReach(world.db, order.reach, order.tenantId)
  const key = await generateKey(order.isOwn ? null : order.reach.accountId)
  try {
    return await world.db.transact(by, tx => createDomainIn(tx, world, { ...order, name, key }))
  } catch (error) {
    if (!isUniqueViolation(error, 'domains_verified')) throw error
    throw taken()
  }
}

/** As part of a larger transaction. The name is one of the installation's own, or was checked. */
export async function createDomainIn(
  tx: Tx,
  { config, secrets }: World,
  { reach: { accountId }, tenantId, name, key }: DomainOrder & { key: DkimKey },
): Promise<Domain> {
  const draft = draftOf(config, { accountId, tenantId, name, publicKeyBase64: key.publicKeyBase64, now: tx.now })
  if (draft.is_platform) await requireOwnBranch(tx, name, tenantId)
  const dkim_private_key = secrets.seal(keyRow(draft.id), key.privateKeyPem)
  const domain = await insertDomain(tx, { ...draft, dkim_private_key })
  if (!domain) throw refuse('conflict', 'The tenant has this domain already.')
  tx.audit({
    action: 'domain.create',
    accountId,
    tenantId,
    target: { type: 'domain', id: domain.id },
    after: summariseDomain(config, domain),
  })
  return presentDomain(config, domain)
}

/**
 * What lies under another tenant's name would pass for it, whichever of the two came first. Names of the installation are
 * taken one after the other: of two that are taken at once, neither would see the other.
 */
async function requireOwnBranch(tx: Tx, name: string, tenantId: string): Promise<void> {
  await takeLock(tx, locks.platformNames)
  if (await findNameAboveAnywhere(tx, name, tenantId)) throw taken()
  if (await findNameBelowAnywhere(tx, name, tenantId)) throw taken()
}

const taken = () => refuse('conflict', 'This name is taken. Choose another one.')

/** With our longest label before it, `sluice-01234567._domainkey.`, a name must still fit into DNS (RFC 1035 §3.1). */
const NAME_CHARS_MAX = 253 - 27

function readName(config: Config, { name, isOwn = false }: DomainOrder): string {
  const ascii = normaliseDomain(name)
  if (ascii === null) throw refuse('invalid_request', 'name must be a domain name, such as mail.example.com.')
  if (ascii.length > NAME_CHARS_MAX) {
    throw refuse('invalid_request', `name must have at most ${NAME_CHARS_MAX} characters.`)
  }
  // Bounces and other servers' mail arrive under these; nobody else may speak for them.
  const { PLATFORM_DOMAIN, MX_HOST, SPF_HOST, RETURN_PATH_HOST } = config
  const own = [PLATFORM_DOMAIN, MX_HOST, SPF_HOST, RETURN_PATH_HOST, `operator.${PLATFORM_DOMAIN}`]
  if (!isOwn && own.includes(ascii)) {
    throw refuse('conflict', 'This name is used by the installation itself. Choose another one.')
  }
  if (!isOwn && isReservedName(ascii, PLATFORM_DOMAIN)) {
    throw refuse('conflict', `This name under ${PLATFORM_DOMAIN} is reserved. Choose another one.`)
  }
  return ascii
}

interface Draft {
  accountId: string
  tenantId: string
  name: string
  publicKeyBase64: string
  now: Date
}

function draftOf(config: Config, { accountId, tenantId, name, publicKeyBase64, now }: Draft): StoredDomain {
  const id = newId(now)
  const isPlatform = name.endsWith(`.${config.PLATFORM_DOMAIN}`)
  const draft: StoredDomain = {
    id,
    account_id: accountId,
    tenant_id: tenantId,
    name,
    is_platform: isPlatform,
    // Different for each claim of a name, so that a domain can move to another tenant without a gap: the new key is
    // published beside the old one. The end of the id is random.
    dkim_selector: `sluice-${id.slice(-8)}`,
    dkim_public_key: publicKeyBase64,
    findings: {},
    checked_at: null,
    verified_at: null,
    mx_verified_at: null,
    inbound_enabled: false,
    failing_since: null,
    created_at: now,
  }
  if (!isPlatform) return draft
  const findings = { records: publishedFindings(config, draft) }
  return { ...draft, findings, checked_at: now, verified_at: now, mx_verified_at: now }
}
