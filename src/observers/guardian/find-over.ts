// Which rules are over their threshold, for which of these scopes. Most are far from it, so it goes from cheap to exact:
// the hours say how high a value can be at the most; only where that is too high are minutes read, and only where an
// average counts are the seven days before.
import type { Db } from '../../platform/db/database.ts'
import { groupsOf, shareGroups, type Group } from './groups.ts'
import type { HourCache } from './hour-cache.ts'
import { add, baselineOf, isRate, NOTHING, type Counters, type History } from './metric.ts'
import { isOver, limitOf, measured, scopeKey, type Rule, type RuleBook, type Scope, type ScopeType } from './rule.ts'
import {
  BASELINE_MS,
  hourAfter,
  hourBefore,
  listAddressHistories,
  listBounds,
  listDistinctAddresses,
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
/** Scopes in one statement: bounds what a statement sends and how long it takes. */
const CHUNK = 5_000
/** Answers about what came since an alert was acknowledged, or a pause resumed: for one account, and for all of them. */
const SINCE_PER_ACCOUNT_MAX = 5_000
const SINCE_MAX = 20_000

/** A rule that may be over its limit for a scope. */
type Suspect = Pick<Finding, 'rule' | 'scope' | 'limit' | 'baseline'>

export class Look {
  readonly #db: Db
  readonly #now: Date
  readonly #cache: HourCache
  readonly #cut = new Set<string>()
  readonly #unseen = new Set<string>()

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
    return !this.#unseen.has(`${scopeKey(scope)} ${rule.name}`)
  }

  /** Grouped by type of scope and window, so that ten thousand tenants cost about as many statements as one. */
  async findOver(book: RuleBook, scopes: readonly Scope[], windowSecondsMax = Infinity): Promise<Finding[]> {
    const findings: Finding[] = []
    const groups = [...groupsOf(book, scopes)].filter(group => group.windowSeconds <= windowSecondsMax)
    const { taken, left } = shareGroups(groups, this.#now)
    for (const { members } of left) for (const { scope, rules } of members) this.#skip(scope, rules)
    for (const group of taken) {
      const window = windowBefore(this.#now, group.windowSeconds)
      const suspects = await this.#listSuspects(group, window)
      for (let start = 0; start < suspects.length; start += CHUNK) {
        const confirmed = await this.#confirm(group.scopeType, suspects.slice(start, start + CHUNK), window)
        for (const finding of confirmed) findings.push(finding)
      }
    }
    return findings
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
      for (let start = 0; start < all.length; start += CHUNK) {
        const chunk = all.slice(start, start + CHUNK)
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

  async #listSuspects({ scopeType, windowSeconds, members }: Group, window: Period): Promise<Suspect[]> {
    const counted = members.filter(({ rules }) => rules.some(rule => !isAboutLogins(rule)))
    const boundsOf = await this.#listBounds(
      scopeType,
      counted.map(member => member.scope),
      window,
    )
    const suspects: Suspect[] = []
    const compared: { rule: Rule; scope: Scope; bounds: Bounds | null }[] = []
    for (const { scope, rules } of members) {
      for (const rule of rules) {
        const bounds = isAboutLogins(rule) ? null : boundsOf(scope)
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

  /**
   * The running hour and the one before are read afresh, so that a roll-up that lags behind is not taken for silence;
   * older ones are kept. Undefined where they could not be read in this pass.
   */
  async #listBounds(
    scopeType: ScopeType,
    scopes: readonly Scope[],
    { from, to }: Period,
  ): Promise<(scope: Scope) => Bounds | undefined> {
    const [since, fullHour] = [hourBefore(from), hourAfter(from)]
    const hot = new Date(hourBefore(to).getTime() - HOUR_MS)
    const settled =
      since < hot
        ? await this.#cache.get(
            {
              name: `${scopeType} ${since.getTime()} ${hot.getTime()}`,
              hours: (hot.getTime() - since.getTime()) / HOUR_MS,
              items: scopes,
              keyOf: scopeKey,
              ownerOf: scope => scope.account_id,
            },
            missing => listBounds(this.#db, scopeType, missing, { since, fullHour, until: hot }),
          )
        : null
    const live = new Map<string, Bounds>()
    const recent = { since: since < hot ? hot : since, fullHour, until: new Date(to.getTime() + 1) }
    for (let start = 0; start < scopes.length; start += CHUNK) {
      const chunk = scopes.slice(start, start + CHUNK)
      const bounds = await listBounds(this.#db, scopeType, chunk, recent)
      chunk.forEach((scope, index) => live.set(scopeKey(scope), bounds[index]!))
    }
    return scope => {
      const [old, fresh] = [settled?.(scope), live.get(scopeKey(scope))!]
      if (!settled) return fresh
      return old && { least: add(old.least, fresh.least), most: add(old.most, fresh.most) }
    }
  }

  async #listHistories(
    scopeType: ScopeType,
    compared: readonly { rule: Rule; scope: Scope }[],
    { window, windowSeconds }: { window: Period; windowSeconds: number },
  ): Promise<(rule: Rule, scope: Scope) => History | null | undefined> {
    const [logins, counted] = [compared.filter(each => isAboutLogins(each.rule)), compared.filter(isAboutMail)].map(
      each => [...new Map(each.map(({ scope }) => [scopeKey(scope), scope])).values()],
    ) as [Scope[], Scope[]]
    const histories = await this.#cache.get(
      {
        name: `history ${scopeType} ${hourBefore(window.from).getTime()}`,
        hours: BASELINE_MS / HOUR_MS,
        items: counted,
        keyOf: scopeKey,
        ownerOf: scope => scope.account_id,
      },
      missing => listHistories(this.#db, scopeType, missing, window),
    )
    const found = await listAddressHistories(this.#db, scopeType, logins, { window, windowSeconds })
    const addresses = new Map(logins.map((scope, index) => [scopeKey(scope), found[index]!]))
    return (rule, scope) => (isAboutLogins(rule) ? addresses.get(scopeKey(scope)) : histories(scope))
  }

  async #confirm(scopeType: ScopeType, suspects: readonly Suspect[], window: Period): Promise<Finding[]> {
    const counters = await this.#listExact(
      scopeType,
      suspects.map(({ rule, scope }) => ({ rule, scope, from: window.from })),
    )
    return suspects.flatMap((suspect, index) => {
      const result = measured(suspect.rule, counters[index]!)
      return isOver(suspect.rule, result, suspect.limit)
        ? [{ ...suspect, value: result.value, volume: result.volume, window }]
        : []
    })
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

/** A rate is at most all that may have been counted over the least that it can be a part of. No bounds: it may. */
function mayBeOver(rule: Rule, bounds: Bounds | null, limit: number): boolean {
  if (!bounds) return true
  const most = measured(rule, bounds.most)
  if (most.volume < rule.min_volume || most.count < rule.min_count) return false
  if (!isRate(rule.metric)) return most.value > limit
  const least = measured(rule, bounds.least)
  return most.count > 0 && Math.min(1, most.count / Math.max(least.volume, rule.min_volume, 1)) > limit
}

const isAboutLogins = (rule: Rule): boolean => rule.metric === 'distinct_ips'
const isAboutMail = ({ rule }: { rule: Rule }): boolean => !isAboutLogins(rule)
