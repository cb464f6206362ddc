// One pass of the guardian: look at the scopes in which something happened and decide, in one transaction; act, in one for
// each account; remember, in a last one. One process at a time: a lock while it looks, a lease while it acts. What a pass
// did is known by its states, so that a process that dies half-way leaves the rest to the next pass and nothing is said
// twice.
import { randomUUID } from 'node:crypto'
import { avoidCompiling } from '../../platform/db/planner.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import { act, type Plan } from './act.ts'
import { Look, type Finding } from './find-over.ts'
import { HourCache } from './hour-cache.ts'
import { takeFairly } from './take-fairly.ts'
import { listOverridesAnywhere, upsertRuleChanges } from './queries.ts'
import { isOwn, RuleBook, scopeKey, type Scope } from './rule.ts'
import { NO_TENANT } from '../metrics/counters.ts'
import {
  deleteCalmThrottles,
  deleteLease,
  deleteStates,
  findLastPass,
  listOperatorAccountsAnywhere,
  listStandings,
  listStatesAnywhere,
  tryGuardianLock,
  updateStatesOver,
  updateThrottleOwners,
  updateLastPass,
  upsertLease,
  type Standing,
  type State,
} from './state-queries.ts'
import { listActiveScopesAnywhere } from './sums-queries.ts'

const by = system('guardian')

/** The longest window: at the first pass ever, and after a change of rules, everything within it is looked at. */
const WINDOW_MS_MAX = 604_800_000
/**
 * What was counted before a pass may be committed after it; longer than any transaction may take. And a scope's activity is
 * noted to 20 seconds.
 */
const OVERLAP_MS = 80_000
/** What a person resumed is not paused again for so long. */
const GRACE_MS = 900_000
const MINUTE_MS = 60_000
/** Longer than roll-ups are behind under load. */
const SETTLED_MS = 3_000
/** A minute less is a tenth of these at the most. */
const SHORT_WINDOW_SECONDS = 600
/** Acting takes half of it at the most, and one statement more. */
const LEASE_MS = 30_000
/** So that a pass ends before its lease lapses. The rest is found by the next one. */
const PLANS_MAX = 500
/** Each reads up to ten thousand events for its evidence. */
const PLANS_PER_ACCOUNT_MAX = 100
/** Scopes of one account in a pass. An account may write from a million senders, and have a rule about senders. */
const SCOPES_MAX = 50_000
/** Rules that are over, each for a scope, of one account: every pass reads them all. */
const STATES_PER_ACCOUNT_MAX = 10_000

export interface Pass {
  scopes: number
  findings: number
  plans: number
}

/** Null when another process is at it. */
export async function evaluate(world: World, cache: HourCache = new HourCache()): Promise<Pass | null> {
  const token = randomUUID()
  const seen = await world.db.transact(by, async tx => {
    if (!(await tryGuardianLock(tx))) return null
    const found = await lookAndPlan(tx, cache)
    await upsertLease(tx, { token, until: new Date(world.clock.now().getTime() + LEASE_MS) })
    return found
  })
  if (!seen) return null
  try {
    const failed = await act(world, seen.taken)
    await world.db.transact(by, async tx => {
      if (await updateLastPass(tx, token, seen.now)) await remember(tx, seen, failed)
    })
  } catch (error) {
    await world.db.transact(by, tx => deleteLease(tx, token)).catch(() => {})
    throw error
  }
  return { scopes: seen.scopes, findings: seen.findings.length, plans: seen.plans }
}

interface Seen {
  now: Date
  scopes: number
  plans: number
  book: RuleBook
  look: Look
  findings: readonly Judged[]
  states: readonly State[]
  taken: readonly Plan[]
  /** Accounts beyond the limit of this pass. */
  cut: ReadonlySet<string>
}

async function lookAndPlan(tx: Tx, cache: HourCache): Promise<Seen> {
  avoidCompiling(tx)
  const overrides = await listOverridesAnywhere(tx)
  const book = new RuleBook(overrides)
  const states = await listStatesAnywhere(tx)
  const last = await findLastPass(tx)
  const active = await listActiveScopesAnywhere(tx, sinceLastPass(tx, last), { overrides, perAccount: SCOPES_MAX })
  const scopes = withStates(active.scopes, states)
  cache.beginPass()
  const look = new Look(tx, tx.now, cache)
  const running = await withoutResumed(tx, look, await look.findOver(book, scopes))
  const minutes = await findInWholeMinutes(tx, { book, scopes, cache, last, running })
  const findings = [...running, ...minutes.findings]
  const exempt = new Set(await listOperatorAccountsAnywhere(tx))
  const plans = withinStatesMax(await planAll({ look, now: tx.now, findings, states, exempt }), states)
  const share = { max: PLANS_MAX, perOwnerMax: PLANS_PER_ACCOUNT_MAX }
  const { taken, cut } = takeFairly(plans, plan => plan.finding.scope.account_id, share)
  const leftOut = new Set([...active.cut, ...look.cutAccounts, ...minutes.cutAccounts, ...cut])
  return { now: tx.now, scopes: scopes.length, plans: plans.length, book, look, findings, states, taken, cut: leftOut }
}

function sinceLastPass(tx: Tx, last: Date | null): { since: Date; longSince: Date; now: Date } {
  const longSince = new Date(tx.now.getTime() - WINDOW_MS_MAX)
  const from = last ?? longSince
  // A clock that was set back must not make us wait for the old time to come again.
  return { since: new Date(Math.min(from.getTime(), tx.now.getTime()) - OVERLAP_MS), longSince, now: tx.now }
}

interface MinuteLook {
  book: RuleBook
  scopes: readonly Scope[]
  cache: HourCache
  last: Date | null
  running: readonly Judged[]
}

/**
 * A window is counted in minutes: seen from the middle of one, it lacks up to a minute at its beginning, which is much of a
 * short one. So once a minute, when all of it has been counted, short windows are looked at as they were at its end.
 */
async function findInWholeMinutes(
  tx: Tx,
  { book, scopes, cache, last, running }: MinuteLook,
): Promise<{ findings: Judged[]; cutAccounts: ReadonlySet<string> }> {
  const end = minuteSettledAt(tx.now)
  // After a longer silence that minute is no longer news.
  const sinceMs = last ? tx.now.getTime() - last.getTime() : Infinity
  if (!last || sinceMs < 0 || sinceMs > MINUTE_MS || minuteSettledAt(last) === end) {
    return { findings: [], cutAccounts: new Set() }
  }
  const look = new Look(tx, new Date(end - 1), cache)
  const known = new Set(running.map(({ rule, scope }) => stateKey(rule.name, scope)))
  const found = await look.findOver(book, scopes, SHORT_WINDOW_SECONDS)
  const news = found.filter(({ rule, scope }) => !known.has(stateKey(rule.name, scope)))
  return { findings: await withoutResumed(tx, look, news), cutAccounts: look.cutAccounts }
}

const minuteSettledAt = (now: Date): number => Math.floor((now.getTime() - SETTLED_MS) / MINUTE_MS) * MINUTE_MS

/**
 * Those that are over have to be looked at when nothing happens, or they would never be calm; and before all others, so
 * that none is taken for calm because it was beyond the limit of a pass.
 */
function withStates(active: readonly Scope[], states: readonly State[]): Scope[] {
  const over = states.map(({ account_id, scope_type, scope_value, tenant_id }) => ({
    account_id,
    scope_type,
    scope_value,
    tenant_id,
  }))
  return [...new Map([...over, ...active].map(scope => [scopeKey(scope), scope])).values()]
}

interface Judged extends Finding {
  standing: Standing
}

/** What a person resumed is not stopped again for what happened before: only what came since counts. */
async function withoutResumed(tx: Tx, look: Look, findings: readonly Finding[]): Promise<Judged[]> {
  const standings = await listStandings(
    tx,
    findings.map(finding => finding.scope),
  )
  const judged = findings.map((finding, index): Judged => ({ ...finding, standing: standings[index]! }))
  const resumed = new Map<Finding, Date>()
  for (const finding of judged) {
    const { resumed_at } = finding.standing
    if (finding.rule.action === 'suspend' && resumed_at) resumed.set(finding, resumed_at)
  }
  const news = await look.findOverSince(resumed)
  return judged.filter(finding => !resumed.has(finding) || news.has(finding))
}

interface Planning extends Pick<Seen, 'look' | 'now' | 'findings' | 'states'> {
  /** Accounts that are never stopped or slowed: the alerts of all others leave through them. */
  exempt: ReadonlySet<string>
}

async function planAll({ look, now, findings, states, exempt }: Planning): Promise<Plan[]> {
  const known = new Map(states.map(state => [stateKey(state.rule_name, state), state]))
  const stateOf = ({ rule, scope }: Finding): State | undefined => known.get(stateKey(rule.name, scope))
  const dueAgain = await findDueAgain(look, findings, stateOf)
  const plans: Plan[] = []
  for (const finding of findings) {
    const { rule, standing } = finding
    const state = stateOf(finding)
    const isInGrace = standing.resumed_at !== null && now.getTime() - standing.resumed_at.getTime() < GRACE_MS
    const mayAct = !exempt.has(finding.scope.account_id)
    const plan: Plan = {
      finding,
      isNew: !state,
      alerts: !state || dueAgain.has(finding),
      pauses: mayAct && rule.action === 'suspend' && !standing.is_paused && !isInGrace,
      throttles: mayAct && rule.action === 'throttle' && !state?.is_throttled && finding.scope.tenant_id !== NO_TENANT,
    }
    if (plan.alerts || plan.pauses || plan.throttles) plans.push(plan)
  }
  return plans
}

/** Without what is too much for an account. The platform's rules are always noted: they are ten, about tenants and logins. */
function withinStatesMax(plans: readonly Plan[], states: readonly State[]): Plan[] {
  const counts = new Map<string, number>()
  for (const { account_id: id } of states) counts.set(id, (counts.get(id) ?? 0) + 1)
  return plans.filter(({ isNew, finding: { rule, scope } }) => {
    const count = counts.get(scope.account_id) ?? 0
    if (isNew && isOwn(rule) && count >= STATES_PER_ACCOUNT_MAX) return false
    if (isNew) counts.set(scope.account_id, count + 1)
    return true
  })
}

/** One alert until it is acknowledged. Then what was acknowledged is known, and only what came since can be news. */
function findDueAgain(
  look: Look,
  findings: readonly Judged[],
  stateOf: (finding: Finding) => State | undefined,
): Promise<ReadonlySet<Finding>> {
  const acknowledged = new Map<Finding, Date>()
  for (const finding of findings) {
    const ackedAt = stateOf(finding)?.acked_at
    if (ackedAt && !finding.standing.is_paused) acknowledged.set(finding, ackedAt)
  }
  return look.findOverSince(acknowledged)
}

async function remember(tx: Tx, { book, look, findings, states, cut }: Seen, failed: ReadonlySet<string>) {
  avoidCompiling(tx)
  // The next pass looks at all of their scopes again, and for the others goes on from here.
  await upsertRuleChanges(tx, new Set([...cut, ...failed]))
  const over = new Map(findings.map(finding => [stateKey(finding.rule.name, finding.scope), finding]))
  const calm = states.filter(state => {
    if (over.has(stateKey(state.rule_name, state))) return false
    const rule = book.find(state, state.rule_name)
    if (rule && !look.hasSeen(rule, state)) return false
    return !rule || tx.now.getTime() - state.last_over.getTime() >= rule.window_seconds * 1000
  })
  await updateStatesOver(
    tx,
    [...over.values()].map(({ rule, scope }) => ({ ...scope, rule })),
  )
  await deleteStates(tx, calm)
  await updateThrottleOwners(tx)
  for (const { account_id, tenant_id, rate_per_minute, rule_name } of await deleteCalmThrottles(tx)) {
    tx.audit({
      action: 'tenant.unthrottle',
      accountId: account_id,
      tenantId: tenant_id,
      target: { type: 'tenant', id: tenant_id },
      before: { effective_rate_per_minute: rate_per_minute, rule: rule_name },
      after: { effective_rate_per_minute: null },
    })
  }
}

const stateKey = (ruleName: string, scope: Scope): string => `${scopeKey(scope)} ${ruleName}`
