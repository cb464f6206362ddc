// A rule as the evaluation sees it, and the rules that are in force for a tenant: its own, else the account's, else the
// platform's, matched by name. Pure.
import type { Severity } from '../../platform/journal/anomaly.ts'
import { DEFAULT_RULES } from './defaults.ts'
import { isRate, measure, type Counters, type Measured, type Metric } from './metric.ts'
import type { Bounds } from './sums-queries.ts'

export const SCOPE_TYPES = ['tenant', 'domain', 'sender', 'credential', 'api_key'] as const
export type ScopeType = (typeof SCOPE_TYPES)[number]

export const ACTIONS = ['alert', 'throttle', 'suspend'] as const
type Action = (typeof ACTIONS)[number]

export interface Rule {
  id: string
  name: string
  metric: Metric
  scope_type: ScopeType
  window_seconds: number
  threshold: number
  min_volume: number
  min_count: number
  baseline_multiplier: number | null
  action: Action
  severity: Severity
  enabled: boolean
}

export interface Override extends Rule {
  account_id: string
  tenant_id: string | null
}

/** What is measured: one of these of one tenant. `tenant_id` is all zeros where none is known. */
export interface Scope {
  account_id: string
  scope_type: ScopeType
  scope_value: string
  tenant_id: string
}

export const scopeKey = (scope: Scope): string =>
  `${scope.account_id} ${scope.tenant_id} ${scope.scope_type} ${scope.scope_value}`

/** Whether there is enough of it, and more of it than the limit: an equal value does not fire. */
export const isOver = (rule: Rule, { value, count, volume }: Measured, limit: number): boolean =>
  volume >= rule.min_volume && count >= rule.min_count && value > limit

/** A rate is at most all that may have been counted over the least that it can be a part of. No bounds: it may. */
export function mayBeOver(rule: Rule, bounds: Bounds | null, limit: number): boolean {
  if (!bounds) return true
  const most = measured(rule, bounds.most)
  if (most.volume < rule.min_volume || most.count < rule.min_count) return false
  if (!isRate(rule.metric)) return most.value > limit
  const least = measured(rule, bounds.least)
  return most.count > 0 && Math.min(1, most.count / Math.max(least.volume, rule.min_volume, 1)) > limit
}

/**
 * What a value must exceed: the multiplied average, or the threshold where none counts or there is none yet. A rule that
 * only compares (its threshold is 0) then has nothing to compare with: no value is over.
 */
export function limitOf({ threshold, baseline_multiplier: multiplier }: Rule, baseline: number | null): number {
  if (multiplier === null) return threshold
  if (baseline !== null) return multiplier * baseline
  return threshold === 0 ? Infinity : threshold
}

export const measured = (rule: Rule, counters: Counters): Measured => measure(rule.metric, counters)

export const isAboutLogins = (rule: Rule): boolean => rule.metric === 'distinct_ips'

/** Every rule in force for the tenant, disabled ones included; without a tenant those of the account. */
export function effectiveRules<R extends Rule>(
  overrides: readonly (R & { tenant_id: string | null })[],
  tenantId: string | null,
): (Rule | R)[] {
  const byName = new Map<string, Rule | R>(DEFAULT_RULES.map(rule => [rule.name, rule]))
  for (const override of overrides) if (override.tenant_id === null) byName.set(override.name, override)
  if (tenantId === null) return [...byName.values()]
  for (const override of overrides) if (override.tenant_id === tenantId) byName.set(override.name, override)
  return [...byName.values()]
}

/** One of the account's or of a tenant, and not the platform's. */
export const isOwn = (rule: Rule): rule is Override => 'account_id' in rule

/** Rules that are switched on, for scopes of one type. */
interface Known {
  byWindow: Map<number, Rule[]>
  /** The platform's among them. */
  platforms: Map<number, Rule[]>
  byName: Map<string, Rule>
  /** How many are not the platform's, by the longest window that counts. */
  own: Map<number, number>
}

/** The rules of every account, looked up by scope many thousand times in a pass: each look-up reads the tenant's own alone. */
export class RuleBook {
  readonly #byAccount: Map<string, Map<string | null, Override[]>>
  readonly #known = new Map<string, Known>()

  constructor(overrides: readonly Override[]) {
    const accounts = Map.groupBy(overrides, override => override.account_id)
    this.#byAccount = new Map([...accounts].map(([id, own]) => [id, Map.groupBy(own, override => override.tenant_id)]))
  }

  /** Those that are switched on and about such scopes. */
  rulesByWindow(scope: Scope): ReadonlyMap<number, Rule[]> {
    return this.#find(scope).byWindow
  }

  /** Of them, those of the platform. */
  platformRulesByWindow(scope: Scope): ReadonlyMap<number, Rule[]> {
    return this.#find(scope).platforms
  }

  /** Of them, how many are the account's own, with windows up to this. */
  countOwn(scope: Scope, windowSecondsMax: number): number {
    const { byName, own } = this.#find(scope)
    let count = own.get(windowSecondsMax)
    if (count === undefined) {
      count = [...byName.values()].filter(rule => isOwn(rule) && rule.window_seconds <= windowSecondsMax).length
      own.set(windowSecondsMax, count)
    }
    return count
  }

  find(scope: Scope, name: string): Rule | null {
    return this.#find(scope).byName.get(name) ?? null
  }

  #find({ account_id, tenant_id, scope_type }: Scope): Known {
    const overrides = this.#byAccount.get(account_id)
    const [ofAll, own] = [overrides?.get(null) ?? [], overrides?.get(tenant_id) ?? []]
    // Most accounts have none of their own and share one entry, as do tenants without any.
    const key =
      own.length > 0 ? `${scope_type} ${tenant_id}` : ofAll.length > 0 ? `${scope_type} ${account_id}` : scope_type
    let known = this.#known.get(key)
    if (!known) {
      const rules = effectiveRules([...ofAll, ...own], tenant_id).filter(
        rule => rule.enabled && rule.scope_type === scope_type,
      )
      known = {
        byWindow: Map.groupBy(rules, rule => rule.window_seconds),
        platforms: Map.groupBy(
          rules.filter(rule => !isOwn(rule)),
          rule => rule.window_seconds,
        ),
        byName: new Map(rules.map(rule => [rule.name, rule])),
        own: new Map(),
      }
      this.#known.set(key, known)
    }
    return known
  }
}
