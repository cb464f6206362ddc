// Verifying: what is in DNS now decides. The look-ups come first and keep no transaction open; the unique index over
// verified names decides between two tenants that both pass.
import { system, type Actor } from '../../platform/db/actor.ts'
import { isUniqueViolation } from '../../platform/db/errors.ts'
import type { Dns } from '../../platform/net/dns.ts'
import type { Named } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import type { AttachInboxes } from './inbound.ts'
import { findingsOf, lookUp, publishedFindings, type Look } from './look-up.ts'
import { outcomeOfVerify } from './outcome.ts'
import { presentDomain } from './present.ts'
import {
  findClaimedDomainAnywhere,
  findVerifiedDomainAnywhere,
  requireDomain,
  requireDomainForUpdate,
  updateDomainChecked,
} from './queries.ts'
import type { StoredDomain } from './stored-domain.ts'
import { recordUnverified } from './unverify.ts'

interface Verifying extends Named {
  attachInboxes: AttachInboxes
}

/** What others record during the second look, they have looked up after the call began: it is as good as a third. */
const LOOKS_MAX = 2

export async function verifyDomain(world: World, dns: Dns, by: Actor, verifying: Verifying) {
  let domain = await requireDomain(world.db, verifying.reach, verifying.id)
  for (let looks = 1; ; looks++) {
    const look = domain.is_platform ? null : await lookUp(dns, world.config, domain)
    const recorded = await recordOrRelease(world, dns, by, { ...verifying, domain, look })
    if (recorded.isRecorded || looks === LOOKS_MAX) return presentDomain(world.config, recorded.domain)
    domain = recorded.domain
  }
}

async function recordOrRelease(world: World, dns: Dns, by: Actor, looked: Omit<Looked, 'isTaken'>): Promise<Recorded> {
  const recordUnlessTaken = () =>
    record(world, by, { ...looked, isTaken: false }).catch((error: unknown) => {
      if (!isUniqueViolation(error, 'domains_verified')) throw error
      return null
    })
  const recorded = await recordUnlessTaken()
  if (recorded) return recorded
  // Everything is in place, but somebody else has the name, perhaps only because the daily checks have not found out yet.
  await releaseName(world, dns, looked.domain.name)
  return (await recordUnlessTaken()) ?? record(world, by, { ...looked, isTaken: true })
}

const byVerify = system('domain-verify')

/**
 * Takes the verification from the holder of a name whose DKIM key is no longer published. The owner of the name has published
 * that of somebody else, so that there is nothing to wait for. Where DNS does not answer the holder keeps it.
 */
async function releaseName(world: World, dns: Dns, name: string): Promise<void> {
  const holder = await findVerifiedDomainAnywhere(world.db, name)
  if (!holder || holder.is_platform) return
  const look = await lookUp(dns, world.config, holder)
  if (!('verdict' in look.dkim) || look.dkim.verdict.state === 'ok') return
  await world.db.transact(byVerify, async tx => {
    const before = await findClaimedDomainAnywhere(tx, holder)
    if (!before) return
    const records = findingsOf(look, before.findings.records ?? {})
    await updateDomainChecked(tx, before.id, outcomeOfVerify(before, { records, now: tx.now }, false))
    recordUnverified(tx, before, { records, reason: 'was verified elsewhere, its DKIM key here is not published,' })
  })
}

interface Looked extends Verifying {
  /** As it was before the look began. */
  domain: StoredDomain
  /** Null for names that the installation publishes itself. */
  look: Look | null
  isTaken: boolean
}

interface Recorded {
  domain: StoredDomain
  /** False: others have looked at the domain since this look began, and theirs may be newer. */
  isRecorded: boolean
}

function record(world: World, by: Actor, looked: Looked): Promise<Recorded> {
  const { reach, id, attachInboxes, domain, look, isTaken } = looked
  return world.db.transact(by, async tx => {
    const before = await requireDomainForUpdate(tx, reach, id)
    if (look && before.checked_at?.getTime() !== domain.checked_at?.getTime())
      return { domain: before, isRecorded: false }
    const records = look ? findingsOf(look, before.findings.records ?? {}) : publishedFindings(world.config, before)
    const after = await updateDomainChecked(tx, id, outcomeOfVerify(before, { records, now: tx.now }, isTaken))
    tx.audit({
      accountId: before.account_id,
      tenantId: before.tenant_id,
      target: { type: 'domain', id },
      before: verification(before),
      after: verification(after),
    })
    if (after.inbound_enabled && after.verified_at && !before.verified_at) await attachInboxes(tx, after)
    return { domain: after, isRecorded: true }
  })
}

const verification = ({ verified_at, mx_verified_at, checked_at }: StoredDomain) => ({
  verified: verified_at !== null,
  mx_verified: mx_verified_at !== null,
  checked_at,
})
