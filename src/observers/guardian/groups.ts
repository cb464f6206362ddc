// What a pass looks at, grouped so that it costs few statements, and how the groups are shared out between accounts. Pure.
import { DEFAULT_RULES } from './defaults.ts'
import { LOGIN_ROWS_MAX } from './login-queries.ts'
import { isOwn, type Rule, type RuleBook, type Scope, type ScopeType } from './rule.ts'
import { takeRotated, takeWeighed } from './take-fairly.ts'

export interface Group {
  scopeType: ScopeType
  windowSeconds: number
  members: { scope: Scope; rules: Rule[] }[]
}

/** Groups that a pass looks at for one account, and for all of them: a few milliseconds each. An account has 100 rules. */
const GROUPS_PER_ACCOUNT_MAX = 100
const GROUPS_MAX = 1_000

/**
 * Those with windows of the platform's rules are always looked at. Of the others an account gets so many in a pass, beginning
 * elsewhere each time; one that several accounts are in counts for the account with the fewest, so that nobody waits because
 * of what a neighbour has.
 */
export function shareGroups(groups: readonly Group[], now: Date): { taken: Group[]; left: Group[] } {
  const own = groups.filter(group => !isPlatforms(group))
  const counts = countByAccount(own)
  const owners = new Map(own.map(group => [group, lightestOf(group, counts)]))
  const ownerOf = (group: Group): string => owners.get(group)!
  const share = { max: GROUPS_MAX, perOwnerMax: GROUPS_PER_ACCOUNT_MAX, now }
  const taken = new Set(takeRotated(own, ownerOf, share).taken)
  return { taken: [...groups.filter(isPlatforms), ...taken], left: own.filter(group => !taken.has(group)) }
}

const PLATFORM_GROUPS = new Set(DEFAULT_RULES.map(rule => `${rule.scope_type} ${rule.window_seconds}`))

const isPlatforms = ({ scopeType, windowSeconds }: Group): boolean =>
  PLATFORM_GROUPS.has(`${scopeType} ${windowSeconds}`)

const accountsOf = ({ members }: Group): Set<string> => new Set(members.map(({ scope }) => scope.account_id))

function countByAccount(groups: readonly Group[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const group of groups) for (const id of accountsOf(group)) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

const lightestOf = (group: Group, counts: ReadonlyMap<string, number>): string =>
  [...accountsOf(group)].reduce((left, right) => (counts.get(right)! < counts.get(left)! ? right : left))

/**
 * Pairs of a scope and one of the account's own rules, for one account and for all of them: a microsecond or two each, and
 * memory. 100 rules about the senders of 10,000 messages are a million.
 */
const PAIRS_PER_ACCOUNT_MAX = 50_000
const PAIRS_MAX = 200_000

/** By type of scope and window. `left`: only the platform's rules are looked at for these: there were too many pairs. */
export function groupsOf(
  book: RuleBook,
  scopes: readonly Scope[],
  { windowSecondsMax, now }: { windowSecondsMax: number; now: Date },
) {
  const weightOf = (scope: Scope): number => book.countOwn(scope, windowSecondsMax)
  const ruled = scopes.filter(scope => weightOf(scope) > 0)
  const share = { max: PAIRS_MAX, perOwnerMax: PAIRS_PER_ACCOUNT_MAX, now }
  const { left } = takeWeighed(ruled, { ownerOf: scope => scope.account_id, weightOf }, share)
  const leftOut = new Set(left)
  const groups = new Map<string, Group>()
  for (const scope of scopes) {
    const byWindow = leftOut.has(scope) ? book.platformRulesByWindow(scope) : book.rulesByWindow(scope)
    for (const [windowSeconds, rules] of byWindow) {
      if (windowSeconds > windowSecondsMax) continue
      const key = `${scope.scope_type} ${windowSeconds}`
      let group = groups.get(key)
      if (!group) groups.set(key, (group = { scopeType: scope.scope_type, windowSeconds, members: [] }))
      group.members.push({ scope, rules })
    }
  }
  return { groups: [...groups.values()], left }
}

/** What has to be read to know whether rules are over for a scope: its sums, or its logins, over one window. */
interface Reading {
  scope: Scope
  isAboutLogins: boolean
  suspects: { rule: Rule }[]
}

/**
 * Rows, for one account and for all of them, of each kind: those of an hour's minutes and one for each hour, or one for each
 * minute of logins. Half a million took seconds.
 */
const ROWS_PER_ACCOUNT_MAX = 100_000
const ROWS_MAX = 300_000
const MINUTES_OF_HOUR = 60

/** The platform's rules have a share of their own, and so have logins: whatever rules an account makes, those are looked at. */
export function shareReadings<R extends Reading>(readings: readonly R[], now: Date): { taken: R[]; left: R[] } {
  const kindOf = ({ isAboutLogins, suspects }: R): string =>
    `${isAboutLogins} ${suspects.some(({ rule }) => !isOwn(rule))}`
  const ownerOf = ({ scope }: R): string => scope.account_id
  const weightOf = ({ isAboutLogins, suspects }: R): number => {
    const windowSeconds = suspects[0]!.rule.window_seconds
    const minutes = windowSeconds / 60
    return isAboutLogins ? Math.min(minutes, LOGIN_ROWS_MAX) : Math.min(minutes, MINUTES_OF_HOUR) + windowSeconds / 3600
  }
  const share = { max: ROWS_MAX, perOwnerMax: ROWS_PER_ACCOUNT_MAX, now }
  const kinds = [...Map.groupBy(readings, kindOf).values()].map(each => takeWeighed(each, { ownerOf, weightOf }, share))
  return { taken: kinds.flatMap(each => each.taken), left: kinds.flatMap(each => each.left) }
}
