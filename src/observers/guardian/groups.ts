// What a pass looks at, grouped so that it costs few statements, and how the groups are shared out between accounts. Pure.
import { DEFAULT_RULES } from './defaults.ts'
import { takeRotated } from './take-fairly.ts'
import type { Rule, RuleBook, Scope, ScopeType } from './rule.ts'

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

/** By type of scope and window. */
export function groupsOf(book: RuleBook, scopes: readonly Scope[]): Iterable<Group> {
  const groups = new Map<string, Group>()
  for (const scope of scopes) {
    for (const [windowSeconds, rules] of book.rulesByWindow(scope)) {
      const key = `${scope.scope_type} ${windowSeconds}`
      let group = groups.get(key)
      if (!group) groups.set(key, (group = { scopeType: scope.scope_type, windowSeconds, members: [] }))
      group.members.push({ scope, rules })
    }
  }
  return groups.values()
}
