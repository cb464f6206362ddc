// What a pass looks at is bounded, whatever number of rules and scopes an account has.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_RULES } from './defaults.ts'
import { groupsOf, shareReadings } from './groups.ts'
import { isOwn, RuleBook, type Override, type Rule, type Scope } from './rule.ts'

const PLATFORMS = DEFAULT_RULES.find(rule => rule.scope_type === 'tenant')!

const ownRule = (account_id: string, n: number, fields: Partial<Override> = {}): Override => ({
  ...PLATFORMS,
  id: `${account_id} ${n}`,
  name: `rule ${n}`,
  account_id,
  tenant_id: null,
  ...fields,
})

const scopesOf = (account_id: string, scope_type: Scope['scope_type'], count: number): Scope[] =>
  Array.from({ length: count }, (_, n) => ({ account_id, scope_type, scope_value: `${n}`, tenant_id: `${n}` }))

const at = (pass: number): Date => new Date(Date.parse('2026-06-30T21:17:20Z') + pass * 10_000)

test("of an account's own rules a pass takes so many pairs, of the platform's all, and each scope has its turn", () => {
  const senders = scopesOf('much', 'sender', 2_500)
  const tenants = scopesOf('much', 'tenant', 2_500)
  const few = scopesOf('little', 'sender', 30)
  const book = new RuleBook([
    ...Array.from({ length: 60 }, (_, n) => ownRule('much', n, { scope_type: 'sender' })),
    ...Array.from({ length: 40 }, (_, n) => ownRule('much', n, { scope_type: 'tenant', window_seconds: 60 * n + 60 })),
    ...Array.from({ length: 100 }, (_, n) => ownRule('little', n, { scope_type: 'sender' })),
  ])
  const seen = new Set<Scope>()
  for (let pass = 0; pass < 12; pass++) {
    const scopes = [...senders, ...tenants, ...few]
    const { groups, left } = groupsOf(book, scopes, { windowSecondsMax: Infinity, now: at(pass) })
    const pairs = groups.flatMap(({ members }) =>
      members.flatMap(({ scope, rules }) => rules.map(rule => ({ scope, rule }))),
    )
    const countOf = (account: string, wanted: (rule: Rule) => boolean): number =>
      pairs.filter(({ scope, rule }) => scope.account_id === account && wanted(rule)).length
    const own = countOf('much', isOwn)
    assert.ok(own <= 50_000 && own > 45_000, `${own} pairs`)
    assert.equal(countOf('little', isOwn), 30 * 100)
    const ofTenants = DEFAULT_RULES.filter(rule => rule.scope_type === 'tenant').length
    assert.equal(
      countOf('much', rule => !isOwn(rule)),
      2_500 * ofTenants,
    )
    const leftOut = new Set(left)
    for (const scope of scopes) if (!leftOut.has(scope)) seen.add(scope)
  }
  assert.equal(seen.size, 5_030)
})

test('pairs with longer windows than are looked at do not count', () => {
  const book = new RuleBook(Array.from({ length: 100 }, (_, n) => ownRule('a', n, { window_seconds: 7200 })))
  const look = (windowSecondsMax: number) =>
    groupsOf(book, scopesOf('a', 'tenant', 1_000), { windowSecondsMax, now: at(0) }).left.length
  assert.deepEqual([look(600), look(7200) > 0], [0, true])
})

test("readings are shared by what they cost, and an account's own rules take nothing from the platform's", () => {
  const aReading = (scope: Scope, rule: Rule) => ({ scope, isAboutLogins: false, suspects: [{ rule }] })
  const scopes = scopesOf('a', 'tenant', 3_000)
  const [hour, week] = [ownRule('a', 1, { window_seconds: 3600 }), ownRule('a', 2, { window_seconds: 604_800 })]
  const take = (rules: readonly Rule[]) => {
    const readings = rules.flatMap(rule => scopes.map(scope => aReading(scope, rule)))
    const { taken, left } = shareReadings(readings, at(0))
    assert.equal(taken.length + left.length, readings.length)
    return rules.map(rule => taken.filter(({ suspects }) => suspects[0]!.rule === rule).length)
  }
  const [hours] = take([hour])
  const [weeks] = take([week])
  assert.deepEqual([hours, weeks], [Math.floor(100_000 / 61), Math.floor(100_000 / 228)])
  const [platforms, own] = take([PLATFORMS, hour])
  assert.deepEqual([platforms, own], [hours, hours])
})
