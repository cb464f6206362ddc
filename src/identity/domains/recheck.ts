// The daily check of verified domains. Claimed by moving `checked_at`, so that several processes share the work; a
// process that dies in between costs its claimed domains one day's check and nothing else.
import { system } from '../../platform/db/actor.ts'
import type { Dns } from '../../platform/net/dns.ts'
import type { World } from '../../platform/world.ts'
import { findingsOf, lookUp, type Look } from './look-up.ts'
import { outcomeOfRecheck } from './outcome.ts'
import { claimDomainsToCheck, findClaimedDomainAnywhere, updateDomainChecked } from './queries.ts'
import type { StoredDomain } from './stored-domain.ts'
import { recordUnverified } from './unverify.ts'

const DAY_MS = 86_400_000
/** Claimed at once; few, so that a stop or a crash leaves few unchecked. */
const BATCH_MAX = 50
/** Domains looked up at the same time, five questions each: a small resolver must not mind. */
const CONCURRENCY = 10

const by = system('domain-recheck')

/** Checks everything that is due, batch by batch, and answers how many domains that were. */
export async function recheckDomains(world: World, signal: AbortSignal, dns: Dns = world.dns): Promise<number> {
  let checked = 0
  while (!signal.aborted) {
    const domains = await claimDue(world)
    if (domains.length === 0) break
    // One iterator, shared: each worker takes the next domain as soon as it is done with its own.
    const queue = domains.values()
    const workers = Array.from({ length: CONCURRENCY }, async () => {
      for (const domain of queue) {
        if (signal.aborted) return
        await record(world, domain, await lookUp(dns, world.config, domain))
      }
    })
    await Promise.all(workers)
    checked += domains.length
  }
  return checked
}

const claimDue = (world: World): Promise<StoredDomain[]> =>
  world.db.transact(by, tx =>
    claimDomainsToCheck(tx, { checkedBefore: new Date(tx.now.getTime() - DAY_MS), limit: BATCH_MAX }),
  )

async function record(world: World, claimed: StoredDomain, look: Look): Promise<void> {
  const isLost = await world.db.transact(by, async tx => {
    const domain = await findClaimedDomainAnywhere(tx, claimed)
    if (!domain) return false
    const records = findingsOf(look, domain.findings.records ?? {})
    const after = await updateDomainChecked(tx, domain.id, outcomeOfRecheck(domain, { records, now: tx.now }))
    if (after.verified_at) return false
    recordUnverified(tx, domain, { records, reason: 'failed its DNS checks for three days' })
    return true
  })
  if (isLost) {
    world.log.warn(
      { domain: claimed.name, domain_id: claimed.id },
      'a domain failed its checks and is no longer verified',
    )
  }
}
