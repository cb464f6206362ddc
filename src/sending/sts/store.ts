// Enforced MTA-STS policies in the database: every process knows what one has learned, also after a restart.
import { system } from '../../platform/db/actor.ts'
import type { World } from '../../platform/world.ts'
import type { StsStore } from '../../smtp/client/mta-sts.ts'
import { deleteLapsedStsPolicies, deleteStsPolicy, findStsPolicy, upsertStsPolicy } from './queries.ts'

/** Several times as many domains as enforce a policy today; a sender with names of its own makes no more rows than this. */
const POLICIES_MAX = 100_000
/** A policy may list as many hosts as fit 64 KB. One with more than this is known to the process that read it, and not kept. */
const HOSTS_MAX = 100
const LAPSED_MAX = 10_000

const by = system('mta-sts')

export const stsStore = ({ db, clock }: World): StsStore => ({
  find: async domain => {
    const row = await findStsPolicy(db, domain, clock.now())
    if (!row) return null
    const policy = { mode: 'enforce' as const, mx: row.mx, maxAgeSeconds: row.max_age_seconds }
    return { id: row.policy_id, policy, until: row.until.getTime() }
  },
  save: async (domain, { id, policy, until }) => {
    const { mode, mx, maxAgeSeconds } = policy
    const row = { domain, policy_id: id, mx, max_age_seconds: maxAgeSeconds, until: new Date(until) }
    const isKept = mode === 'enforce' && mx.length <= HOSTS_MAX
    await db.transact(by, tx => (isKept ? upsertStsPolicy(tx, row, POLICIES_MAX) : deleteStsPolicy(tx, domain)))
  },
})

export async function forgetStsPolicies({ db }: World): Promise<void> {
  await db.transact(by, tx => deleteLapsedStsPolicies(tx, LAPSED_MAX))
}
