// Saving and deleting rules of an account's own.
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import type { Reach } from '../../platform/principal.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import type { Rule, RuleInput } from './contract.ts'
import {
  countRules,
  deleteRuleRow,
  findRuleNamed,
  toApi,
  upsertRule,
  upsertRuleChanges,
  type StoredRule,
} from './queries.ts'

/** For the account as a whole, and again for each tenant: each pass evaluates all of them. */
const RULES_MAX = 100
/** For the account with all of its tenants: one for each of ten thousand. Each pass reads them all. */
const RULES_PER_ACCOUNT_MAX = 10_000

export function saveRule(world: World, by: Actor, reach: Reach, wanted: RuleInput): Promise<Rule> {
  return world.db.transact(by, async tx => {
    const { accountId } = reach
    const tenantId = wanted.tenant_id ?? null
    if (tenantId !== null) await requireTenantInReach(tx, reach, tenantId)
    const find = () => findRuleNamed(tx, accountId, { tenantId, name: wanted.name })
    const fields = { account_id: accountId, tenant_id: tenantId, ...withDefaults(wanted) }
    // Before the change is noted: the next pass looks at all that the account has.
    const present = await find()
    if (present && isSame(present, fields)) return toApi(present)
    await upsertRuleChanges(tx, new Set([accountId]))
    const known = await find()
    if (known && isSame(known, fields)) return toApi(known)
    const rule = { id: known?.id ?? newId(tx.now), ...fields }
    if (!known) await requireFewer(tx, accountId, tenantId)
    const saved = toApi(await upsertRule(tx, rule))
    tx.audit({
      accountId,
      tenantId,
      target: { type: 'rule', id: saved.id },
      before: known && toApi(known),
      after: saved,
    })
    return saved
  })
}

/** Under the lock that saving takes. */
async function requireFewer(tx: Tx, accountId: string, tenantId: string | null): Promise<void> {
  const { total, own } = await countRules(tx, accountId, tenantId)
  if (own >= RULES_MAX) {
    throw refuse('conflict', `There can be ${RULES_MAX} rules for the account, and as many for each tenant.`)
  }
  if (total >= RULES_PER_ACCOUNT_MAX) {
    throw refuse('conflict', `There can be ${RULES_PER_ACCOUNT_MAX} rules for the account and its tenants together.`)
  }
}

export function deleteRule(world: World, by: Actor, reach: Reach, id: string): Promise<void> {
  return world.db.transact(by, async tx => {
    // First, as saving does: two that lock the same rows in another order wait for each other.
    await upsertRuleChanges(tx, new Set([reach.accountId]))
    const rule = await deleteRuleRow(tx, reach, id)
    if (!rule) throw notFound('rule')
    tx.audit({
      accountId: reach.accountId,
      tenantId: rule.tenant_id,
      target: { type: 'rule', id },
      before: toApi(rule),
    })
  })
}

export const withDefaults = (wanted: RuleInput) => ({
  name: wanted.name,
  metric: wanted.metric,
  scope_type: wanted.scope_type,
  window_seconds: wanted.window_seconds,
  threshold: wanted.threshold ?? 0,
  min_volume: wanted.min_volume ?? 0,
  min_count: wanted.min_count ?? 0,
  baseline_multiplier: wanted.baseline_multiplier ?? null,
  action: wanted.action,
  severity: wanted.severity ?? ('warning' as const),
  enabled: wanted.enabled ?? true,
})

const isSame = (known: StoredRule, wanted: object): boolean =>
  Object.entries(wanted).every(([name, value]) => known[name as keyof StoredRule] === value)
