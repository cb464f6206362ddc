// Trying a rule out over what was counted: when it would have fired, and for which scopes. Reads only.
import { normaliseAddress, normaliseDomain } from '../../mail/address/address.ts'
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import type { Reads } from '../../platform/db/database.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import type { RuleTest } from './contract.ts'
import { replayCounted, type Replay } from './replay-firings.ts'
import { listHours, listLogins, listMinutes, type Chunk, type Wanted } from './replay-queries.ts'
import type { Rule, ScopeType } from './rule.ts'
import { NO_TENANT } from '../metrics/counters.ts'
import { withDefaults } from './save.ts'
import { BASELINE_MS } from './sums-queries.ts'

const PERIOD_MS_MAX = 31 * 86_400_000
/** A tenant that was active in every minute of 31 days has 44,640; looking at them takes 0.1 s, in slices. */
const ROWS_MAX = 50_000

export async function replayRule(world: World, reach: Reach, wanted: RuleTest): Promise<Replay> {
  const [from, to] = [new Date(wanted.from), new Date(wanted.to)]
  if (!(from < to)) throw refuse('invalid_request', 'to must be after from.')
  if (to.getTime() - from.getTime() > PERIOD_MS_MAX)
    throw refuse('invalid_request', 'to is more than 31 days after from.')
  const tenantId = wanted.tenant_id ?? reach.tenantId
  if (tenantId !== null) await requireTenantInReach(world.db, reach, tenantId)
  const rule: Rule = { id: NO_TENANT, ...withDefaults({ name: 'test', action: 'alert', ...wanted }) }
  const counted = await listCounted(world.db.lists, rule, {
    accountId: reach.accountId,
    tenantId,
    scopeType: rule.scope_type,
    scopeValue: wanted.scope_value === undefined ? null : asCounted(rule.scope_type, wanted.scope_value),
    from,
    to,
    limit: ROWS_MAX + 1,
  })
  return world.slices.run(replayCounted(rule, counted, from), [reach.accountId])
}

/** As the roll-ups name it; what cannot be one is found nowhere. */
function asCounted(type: ScopeType, value: string): string {
  if (type === 'domain') return normaliseDomain(value) ?? value
  return type === 'sender' ? normaliseAddress(value).toLowerCase() : value.toLowerCase()
}

async function listCounted(db: Reads, rule: Rule, wanted: Wanted): Promise<{ minutes: Chunk[]; hours: Chunk[] }> {
  const windowMs = rule.window_seconds * 1000
  const early: Wanted = { ...wanted, from: new Date(wanted.from.getTime() - windowMs) }
  if (rule.metric === 'distinct_ips') {
    const isKnown = rule.scope_type === 'credential' || rule.scope_type === 'tenant'
    return { minutes: isKnown ? bounded(await listLogins(db, early)) : [], hours: [] }
  }
  const minutes = bounded(await listMinutes(db, early))
  const beforeThat = new Date(early.from.getTime() - BASELINE_MS)
  const hours = rule.baseline_multiplier === null ? [] : bounded(await listHours(db, { ...wanted, from: beforeThat }))
  return { minutes, hours }
}

function bounded(chunks: Chunk[]): Chunk[] {
  if (chunks.reduce((total, chunk) => total + chunk.count, 0) <= ROWS_MAX) return chunks
  throw refuse('invalid_request', 'This is too much to look at. Shorten the period, or name a tenant or a scope_value.')
}
