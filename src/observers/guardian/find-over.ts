// Which rules are over their threshold, for which of these scopes. Most are far from it, so it goes from cheap to exact:
// the hours say how high a value can be at the most; only where that is too high are minutes read, and only where an
// average counts are the seven days before.
import type { Db } from '../../platform/db/database.ts'
import { chunksOf } from './chunks.ts'
import { groupsOf, shareGroups, shareReadings, type Group } from './groups.ts'
import { HourBounds } from './hour-bounds.ts'
import { perScope, type HourCache } from './hour-cache.ts'
import { baselineOf, NOTHING, type Counters, type History } from './metric.ts'
import {
  isAboutLogins,
  isOver,
  isOwn,
  limitOf,
  mayBeOver,
  measured,
  scopeKey,
  type Rule,
  type RuleBook,
  type Scope,
  type ScopeType,
} from './rule.ts'
import { listAddressHistories, listDistinctAddresses } from './login-queries.ts'
import {
  BASELINE_MS,
  hourBefore,
  listHistories,
  listSums,
  windowBefore,
  type Bounds,
  type Period,
  type Since,
} from './sums-queries.ts'
import { takeRotated } from './take-fairly.ts'

export interface Finding {
  rule: Rule
  scope: Scope
  value: number
  volume: number
  /** What the value exceeds: the threshold, or the multiplied average. */
  limit: number
  /** The average, where it counted. */
  baseline: number | null
  /** In which it was found. */
  window: Period
}

const HOUR_MS = 3_600_000
/** Answers about what came since an alert was acknowledged, or a pause resumed: for one account, and for all of them. */
const SINCE_PER_ACCOUNT_MAX = 5_000
const SINCE_MAX = 20_000

/** What an average of logins is charged for: they are kept by the minute, and each of seven days may have many. */
const LOGIN_HISTORY_HOURS = 1_680

/** A rule that may be over its limit for a scope. */
type Suspect = Pick<Finding, 'rule' | 'scope' | 'limit' | 'baseline'>

/** Of one scope and window: what is read once for all of them. */
interface Reading {
  scope: Scope
  isAboutLogins: boolean
  window: Period
  suspects: Suspect[]
}

export class Look {
  readonly #db: Db
  readonly #now: Date
  readonly #cache: HourCache
  readonly #cut = new Set<string>()
  readonly #unseen = new Set<string>()
  readonly #unseenOwn = new Set<string>()

  constructor(db: Db, now: Date, cache: HourCache) {
    this.#db = db
    this.#now = now
    this.#cache = cache
  }

  /** Accounts with something beyond the limit of this look. */
  get cutAccounts(): ReadonlySet<string> {
    return this.#cut
  }

  /** Whether the limit allowed to see if the rule is over for the scope; where not, that says nothing. */
  hasSeen(rule: Rule, scope: Scope): boolean {
    const key = scopeKey(scope)
    return !this.#unseen.has(`${key} ${rule.name}`) && !(isOwn(rule) && this.#unseenOwn.has(key))
  }

  /** Grouped by type of scope and window, so that ten thousand tenants cost about as many statements as one. */
  async findOver(book: RuleBook, scopes: readonly Scope[], windowSecondsMax = Infinity): Promise<Finding[]> {
    const { groups, left: tooMany } = groupsOf(book, scopes, { windowSecondsMax, now: this.#now })
    for (const scope of tooMany) this.#skipOwn(scope)
    const { taken, left } = shareGroups(groups, this.#now)
    for (const { members } of left) for (const { scope, rules } of members) this.#skip(scope, rules)
    const hours = new HourBounds(this.#db, this.#now, this.#cache)
    const readings: Reading[] = []
    for (const group of taken) {
      const window = windowBefore(this.#now, group.windowSeconds)
      const kinds = Map.groupBy(await this.#listSuspects(group, window, hours), ({ rule }) => isAboutLogins(rule))
      for (const [isAbout, suspects] of kinds) {
        for (const [scope, own] of Map.groupBy(suspects, suspect => suspect.scope)) {
          readings.push({ scope, isAboutLogins: isAbout, window, suspects: own })
        }
      }
    }
    const findings = await this.#confirm(readings)
    // The platform's first: an account's own rules do not use up what a pass does for it.
    return [...findings.filter(({ rule }) => !isOwn(rule)), ...findings.filter(({ rule }) => isOwn(rule))]
  }

  /**
   * Those that are over their limit for what happened from then on alone. An account gets so many answers; to the others
   * a later pass has the answer.
   */
  async findOverSince(moments: ReadonlyMap<Finding, Date>): Promise<ReadonlySet<Finding>> {
    const over = new Set<Finding>()
    const asked: (Since & { rule: Rule; finding: Finding })[] = []
    for (const [finding, moment] of moments) {
      const { rule, scope } = finding
      if (moment <= windowBefore(this.#now, rule.window_seconds).from) over.add(finding)
      // The minute of that moment holds what came before it as well, so it begins with the next one.
      else asked.push({ rule, scope, finding, from: windowBefore(moment, 0).from })
    }
    const share = { max: SINCE_MAX, perOwnerMax: SINCE_PER_ACCOUNT_MAX, now: this.#now }
    const taken = new Set(takeRotated(asked, each => each.scope.account_id, share).taken)
    for (const each of asked) if (!taken.has(each)) this.#skip(each.scope, [each.rule])
    for (const [scopeType, all] of Map.groupBy(taken, each => each.scope.scope_type)) {
      for (const chunk of chunksOf(all)) {
        const counters = await this.#listExact(scopeType, chunk)
        chunk.forEach(({ rule, finding }, index) => {
          if (isOver(rule, measured(rule, counters[index]!), finding.limit)) over.add(finding)
        })
      }
    }
    return over
  }

  #skip(scope: Scope, rules: readonly Rule[]): void {
    this.#cut.add(scope.account_id)
    for (const rule of rules) this.#unseen.add(`${scopeKey(scope)} ${rule.name}`)
  }

  /** By scope alone: there are very many rules where this is needed. */
  #skipOwn(scope: Scope): void {
    this.#cut.add(scope.account_id)
    this.#unseenOwn.add(scopeKey(scope))
  }

  async #listSuspects(
    { scopeType, windowSeconds, members }: Group,
    window: Period,
    hours: HourBounds,
  ): Promise<Suspect[]> {
    const counted = members.filter(({ rules }) => rules.some(rule => !isAboutLogins(rule)))
    const boundsOf = await hours.list(
      scopeType,
      counted.map(member => member.scope),
      window.from,
    )
    const suspects: Suspect[] = []
    const compared: { rule: Rule; scope: Scope; bounds: Bounds | null }[] = []
    for (const { scope, rules } of members) {
      // Once for all of its rules: a pass asks a hundred thousand of them.
      const ofMail = rules.every(isAboutLogins) ? null : boundsOf(scope)
      for (const rule of rules) {
        const bounds = isAboutLogins(rule) ? null : ofMail
        if (bounds === undefined) {
          this.#skip(scope, [rule])
          continue
        }
        if (rule.baseline_multiplier !== null) {
          if (mayBeOver(rule, bounds, 0)) compared.push({ rule, scope, bounds })
        } else if (mayBeOver(rule, bounds, rule.threshold)) {
          suspects.push({ rule, scope, limit: rule.threshold, baseline: null })
        }
      }
    }
    if (compared.length === 0) return suspects
    const historyOf = await this.#listHistories(scopeType, compared, { window, windowSeconds })
    for (const { rule, scope, bounds } of compared) {
      const history = historyOf(rule, scope)
      if (history === undefined) {
        this.#skip(scope, [rule])
        continue
      }
      const baseline = baselineOf(rule.metric, windowSeconds, history)
      const limit = limitOf(rule, baseline)
      if (mayBeOver(rule, bounds, limit)) suspects.push({ rule, scope, limit, baseline })
    }
    return suspects
  }

  async #listHistories(
    scopeType: ScopeType,
    compared: readonly { rule: Rule; scope: Scope }[],
    { window, windowSeconds }: { window: Period; windowSeconds: number },
  ): Promise<(rule: Rule, scope: Scope) => History | null | undefined> {
    const [logins, counted] = [compared.filter(each => isAboutLogins(each.rule)), compared.filter(isAboutMail)].map(
      each => [...new Set(each.map(({ scope }) => scope))],
    ) as [Scope[], Scope[]]
    const histories = await this.#cache.get(
      {
        name: `history ${scopeType} ${hourBefore(window.from).getTime()}`,
        hours: BASELINE_MS / HOUR_MS,
        items: counted,
        ...perScope,
      },
      missing => listHistories(this.#db, scopeType, missing, window),
    )
    const addresses = await this.#cache.get(
      {
        name: `logins ${scopeType} ${windowSeconds} ${hourBefore(window.from).getTime()}`,
        hours: LOGIN_HISTORY_HOURS,
        items: logins,
        ...perScope,
      },
      missing => listAddressHistories(this.#db, scopeType, missing, { window, windowSeconds }),
    )
    return (rule, scope) => (isAboutLogins(rule) ? addresses(scope) : histories(scope))
  }

  /** What several rules ask about a scope is read once. */
  async #confirm(readings: readonly Reading[]): Promise<Finding[]> {
    const { taken, left } = shareReadings(readings, this.#now)
    for (const { suspects } of left) for (const { scope, rule } of suspects) this.#skip(scope, [rule])
    const findings: Finding[] = []
    for (const [scopeType, all] of Map.groupBy(taken, reading => reading.scope.scope_type)) {
      for (const chunk of chunksOf(all)) {
        const counters = await this.#listExact(
          scopeType,
          chunk.map(({ scope, window, suspects }) => ({ scope, from: window.from, rule: suspects[0]!.rule })),
        )
        for (const [index, { window, suspects }] of chunk.entries()) {
          for (const suspect of suspects) {
            const result = measured(suspect.rule, counters[index]!)
            if (!isOver(suspect.rule, result, suspect.limit)) continue
            findings.push({ ...suspect, value: result.value, volume: result.volume, window })
          }
        }
      }
    }
    return findings
  }

  /** In their order; only what the rules ask for. */
  async #listExact(scopeType: ScopeType, asked: readonly (Since & { rule: Rule })[]): Promise<Counters[]> {
    const [logins, mail] = [asked.filter(each => isAboutLogins(each.rule)), asked.filter(isAboutMail)]
    const [sums, addresses] = [
      await listSums(this.#db, scopeType, mail, this.#now),
      await listDistinctAddresses(this.#db, scopeType, logins, this.#now),
    ]
    const found = new Map<object, Counters>(mail.map((each, index) => [each, sums[index]!]))
    logins.forEach((each, index) => found.set(each, { ...NOTHING, distinct_ips: addresses[index]! }))
    return asked.map(each => found.get(each)!)
  }
}

const isAboutMail = ({ rule }: { rule: Rule }): boolean => !isAboutLogins(rule)
