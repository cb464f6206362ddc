// Which rules are over their threshold, for which of these scopes. Rules are grouped by type of scope and window, so that
// ten thousand tenants cost as many statements as one.
import type { Db } from '../../platform/db/database.ts'
import { baselineOf, NOTHING, type Counters, type History } from './metric.ts'
import { isOver, measured, scopeKey, type Rule, type RuleBook, type Scope, type ScopeType } from './rule.ts'
import {
  listAddressHistories,
  listDistinctAddresses,
  listHistories,
  listSums,
  windowBefore,
  type Period,
} from './sums-queries.ts'

export interface Finding {
  rule: Rule
  scope: Scope
  value: number
  volume: number
  /** What the value exceeds: the threshold, or the multiplied average. */
  limit: number
  /** The average, where it counted. */
  baseline: number | null
}

/** Scopes in one statement: bounds what a statement sends and how long it takes. */
const CHUNK = 5_000

interface Group {
  scopeType: ScopeType
  windowSeconds: number
  members: { scope: Scope; rules: Rule[] }[]
}

export async function findOver(db: Db, book: RuleBook, scopes: readonly Scope[], now: Date): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { scopeType, windowSeconds, members } of groupsOf(book, scopes)) {
    const window = windowBefore(now, windowSeconds)
    for (let start = 0; start < members.length; start += CHUNK) {
      const chunk = members.slice(start, start + CHUNK)
      findings.push(...(await findOverIn(db, { scopeType, windowSeconds, members: chunk }, window)))
    }
  }
  return findings
}

/** Whether the rule is over its limit for what happened from then on alone. */
export async function isOverSince(db: Db, { rule, scope, limit }: Finding, from: Date, now: Date): Promise<boolean> {
  const window = windowBefore(now, rule.window_seconds)
  if (from <= window.from) return true
  // The minute of that moment holds what came before it as well.
  const minute = windowBefore(from, 0).from
  const [counters] = await listCounters(db, scope.scope_type, [{ scope, rules: [rule] }], { from: minute, to: now })
  return isOver(rule, measured(rule, counters!), limit)
}

function groupsOf(book: RuleBook, scopes: readonly Scope[]): Iterable<Group> {
  const groups = new Map<string, Group>()
  for (const scope of scopes) {
    const byWindow = Map.groupBy(book.rulesFor(scope), rule => rule.window_seconds)
    for (const [windowSeconds, rules] of byWindow) {
      const key = `${scope.scope_type} ${windowSeconds}`
      let group = groups.get(key)
      if (!group) groups.set(key, (group = { scopeType: scope.scope_type, windowSeconds, members: [] }))
      group.members.push({ scope, rules })
    }
  }
  return groups.values()
}

async function findOverIn(db: Db, group: Group, window: Period): Promise<Finding[]> {
  const { scopeType, windowSeconds, members } = group
  const counters = await listCounters(db, scopeType, members, window)
  const findings: Finding[] = []
  const compared: Omit<Finding, 'limit' | 'baseline'>[] = []
  members.forEach(({ scope, rules }, index) => {
    for (const rule of rules) {
      const result = measured(rule, counters[index]!)
      // Only what is large enough to fire is worth a look at seven days.
      if (!isOver(rule, result, rule.baseline_multiplier === null ? rule.threshold : 0)) continue
      const { value, volume } = result
      if (rule.baseline_multiplier !== null) compared.push({ rule, scope, value, volume })
      else findings.push({ rule, scope, value, volume, limit: rule.threshold, baseline: null })
    }
  })
  if (compared.length === 0) return findings
  const historyOf = await listHistoriesFor(db, compared, { scopeType, windowSeconds, window })
  for (const each of compared) {
    const baseline = baselineOf(each.rule.metric, windowSeconds, historyOf(each.rule, each.scope))
    const limit = baseline === null ? each.rule.threshold : each.rule.baseline_multiplier! * baseline
    if (each.value > limit) findings.push({ ...each, limit, baseline })
  }
  return findings
}

const isAboutAddresses = (rule: Rule): boolean => rule.metric === 'distinct_ips'

/** Only what some rule asks for. */
async function listCounters(
  db: Db,
  scopeType: ScopeType,
  members: Group['members'],
  window: Period,
): Promise<Counters[]> {
  const scopes = members.map(member => member.scope)
  const asks = (question: (rule: Rule) => boolean): boolean => members.some(({ rules }) => rules.some(question))
  const asked = asks(rule => !isAboutAddresses(rule)) ? scopes : []
  const counters = await listSums(db, scopeType, asked, window)
  const addresses = asks(isAboutAddresses) ? await listDistinctAddresses(db, scopeType, scopes, window) : []
  return scopes.map((_, index) => ({
    ...(counters[index] ?? NOTHING),
    distinct_ips: addresses[index] ?? 0,
  }))
}

async function listHistoriesFor(
  db: Db,
  compared: readonly { rule: Rule; scope: Scope }[],
  { scopeType, windowSeconds, window }: Omit<Group, 'members'> & { window: Period },
): Promise<(rule: Rule, scope: Scope) => History | undefined> {
  const scopesOf = (isWanted: (rule: Rule) => boolean): Scope[] => [
    ...new Map(compared.filter(({ rule }) => isWanted(rule)).map(({ scope }) => [scopeKey(scope), scope])).values(),
  ]
  const [counted, logins] = [scopesOf(rule => !isAboutAddresses(rule)), scopesOf(isAboutAddresses)]
  const counts = counted.length > 0 ? await listHistories(db, scopeType, counted, window) : null
  const addresses =
    logins.length > 0 ? await listAddressHistories(db, scopeType, logins, { window, windowSeconds }) : null
  return (rule, scope) => (isAboutAddresses(rule) ? addresses : counts)?.get(scopeKey(scope))
}
