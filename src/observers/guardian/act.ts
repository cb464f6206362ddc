// What follows from a rule that fires: an alert, a throttle, a pause of the offending scope. State, alert and act are one
// transaction per account, apart from the pass: one account whose act fails does not keep the others waiting.
import { pause } from '../../control/suspensions/pause.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { isLost, isUnavailable } from '../../platform/db/errors.ts'
import { raise } from '../../platform/journal/anomaly.ts'
import type { World } from '../../platform/world.ts'
import { findEvidence, findPauseManner } from './evidence-queries.ts'
import type { Finding } from './find-over.ts'
import { isRate } from './metric.ts'
import { type Rule, type Scope } from './rule.ts'
import { NO_TENANT } from '../metrics/counters.ts'
import { insertState, insertThrottle, updateStateAlert } from './state-queries.ts'
import { countRecipients, windowBefore } from './sums-queries.ts'

export interface Plan {
  finding: Finding
  /** The rule was not over for this scope before. */
  isNew: boolean
  alerts: boolean
  pauses: boolean
  throttles: boolean
}

const by = system('guardian')
const HOUR_SECONDS = 3600
/** Half of the lease of the pass. */
const ACT_MS_MAX = 15_000

/** Answers the accounts for which something failed, or had no time left, and is to be tried again. */
export async function act(world: World, plans: readonly Plan[]): Promise<Set<string>> {
  const failed = new Set<string>()
  const deadline = performance.now() + ACT_MS_MAX
  // An account with little to do does not wait for one with much.
  const accounts = [...Map.groupBy(plans, plan => plan.finding.scope.account_id)]
  for (const [accountId, own] of accounts.toSorted(([, left], [, right]) => left.length - right.length)) {
    if (performance.now() > deadline) {
      failed.add(accountId)
      continue
    }
    try {
      const paused = await world.db.transact(by, tx => actFor(tx, own))
      if (paused > 0) world.wakeups.hint('suspensions')
    } catch (err) {
      // What was said before may be undone by its crash: the next pass sees what is there.
      if (isUnavailable(err) && isLost((err as Error).cause)) throw err
      failed.add(accountId)
      world.log.error({ err, account_id: accountId }, 'the guardian could not act and will try again')
    }
  }
  return failed
}

/** Answers how many scopes were paused. */
async function actFor(tx: Tx, plans: readonly Plan[]): Promise<number> {
  // Read before anything is locked: a pause makes the account's mail wait until we commit.
  const prepared = await Promise.all(
    plans.map(async plan => {
      const { rule, scope, window } = plan.finding
      return { plan, evidence: await findEvidence(tx, rule, scope, window) }
    }),
  )
  let paused = 0
  for (const { plan, evidence } of prepared) {
    const { rule, scope } = plan.finding
    // Somebody was faster: the alert and what goes with it are theirs.
    if (plan.isNew && !(await insertState(tx, rule, scope))) continue
    const facts = { ...factsOf(plan.finding), ...evidence }
    const rate = plan.throttles ? await throttle(tx, rule, scope) : null
    const suspension = plan.pauses ? await pauseScope(tx, plan.finding, facts) : null
    if (suspension?.created) paused += 1
    if (!plan.alerts) continue
    const alertId = raise(tx, {
      kind: 'rule',
      severity: rule.severity,
      title: titleOf(plan.finding),
      accountId: scope.account_id,
      tenantId: scope.tenant_id === NO_TENANT ? null : scope.tenant_id,
      scope: `${scope.scope_type}:${scope.scope_value}`,
      facts: {
        ...facts,
        ...(suspension && { suspension_id: suspension.id }),
        ...(rate !== null && { effective_rate_per_minute: rate }),
      },
    })
    await updateStateAlert(tx, rule, scope, alertId)
  }
  return paused
}

/** Half of what the tenant sent per minute in the last hour; null when it is throttled already or is no tenant's. */
async function throttle(tx: Tx, rule: Rule, scope: Scope): Promise<number | null> {
  const { account_id, tenant_id } = scope
  if (tenant_id === NO_TENANT) return null
  const recipients = await countRecipients(tx, scope, windowBefore(tx.now, HOUR_SECONDS))
  const rate = Math.max(1, Math.floor(recipients / 60 / 2))
  const isNew = await insertThrottle(tx, {
    tenant_id,
    account_id,
    rate_per_minute: rate,
    rule_id: rule.id,
    rule_name: rule.name,
  })
  if (!isNew) return null
  tx.audit({
    action: 'tenant.throttle',
    accountId: account_id,
    tenantId: tenant_id,
    target: { type: 'tenant', id: tenant_id },
    before: { effective_rate_per_minute: null },
    after: { effective_rate_per_minute: rate, rule: rule.name },
  })
  return rate
}

async function pauseScope(tx: Tx, finding: Finding, facts: object): Promise<{ id: string; created: boolean }> {
  const { rule, scope } = finding
  const { suspend_mode: queueAction, is_shared: isShared } = await findPauseManner(tx, scope)
  const tenantId = scope.tenant_id === NO_TENANT ? null : scope.tenant_id
  return pause(tx, {
    accountId: scope.account_id,
    tenantId,
    onlyTenant: isShared && tenantId !== null,
    scopeType: scope.scope_type,
    scopeValue: scope.scope_value,
    reason: titleOf(finding),
    queueAction,
    source: 'guardian',
    ruleId: rule.id,
    evidence: facts,
  })
}

const factsOf = ({ rule, value, volume, limit, baseline }: Finding) => ({
  rule_id: rule.id,
  rule: rule.name,
  metric: rule.metric,
  value,
  threshold: limit,
  volume,
  ...(baseline !== null && { baseline, baseline_multiplier: rule.baseline_multiplier }),
  window_seconds: rule.window_seconds,
  action: rule.action,
})

/** One sentence: "Hard bounce rate of tenant 0190… is 9.2 % over the last hour (limit 8 %)." */
function titleOf({ rule, scope, value, limit }: Finding): string {
  const metric = rule.metric.replaceAll('_', ' ')
  const name = metric.charAt(0).toUpperCase() + metric.slice(1)
  const write = (amount: number): string =>
    isRate(rule.metric) ? `${significant(amount * 100)} %` : significant(amount)
  const where = `${scope.scope_type.replace('_', ' ')} ${scope.scope_value}`
  return `${name} of ${where} is ${write(value)} over the last ${spanOf(rule.window_seconds)} (limit ${write(limit)}).`
}

const significant = (amount: number): string => String(Number(amount.toPrecision(4)))

function spanOf(seconds: number): string {
  const units = [
    [86_400, 'day'],
    [3600, 'hour'],
    [60, 'minute'],
  ] as const
  const [size, unit] = units.find(([each]) => seconds % each === 0) ?? [1, 'second']
  const count = seconds / size
  return count === 1 ? unit : `${count} ${unit}s`
}
