// Which rules are in force for a scope, and what it costs to know.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_RULES } from './defaults.ts'
import { RuleBook, type Override, type Scope } from './rule.ts'

const scopeOf = (account_id: string, tenant_id: string): Scope => ({
  account_id,
  tenant_id,
  scope_type: 'tenant',
  scope_value: tenant_id,
})

const anOverride = (account_id: string, tenant_id: string | null, fields: Partial<Override> = {}): Override => ({
  ...DEFAULT_RULES[0]!,
  id: `${account_id} ${tenant_id}`,
  account_id,
  tenant_id,
  ...fields,
})

test("a tenant has its own rule, else the account's, else the platform's, in any order of asking", () => {
  const { name } = DEFAULT_RULES[0]!
  const book = new RuleBook([
    anOverride('a', 'a1', { threshold: 3 }),
    anOverride('a', null, { threshold: 2 }),
    anOverride('b', 'b1', { enabled: false }),
    anOverride('b', 'b2', { scope_type: 'sender' }),
  ])
  const found = (account: string, tenant: string) => book.find(scopeOf(account, tenant), name)?.threshold
  const platforms = DEFAULT_RULES[0]!.threshold
  for (let round = 0; round < 2; round++) {
    assert.deepEqual([found('a', 'a2'), found('a', 'a1'), found('a', 'a3')], [2, 3, 2])
    assert.deepEqual([found('b', 'b3'), found('b', 'b1'), found('b', 'b2')], [platforms, undefined, undefined])
    assert.deepEqual([found('c', 'c1'), book.find(scopeOf('a', 'a1'), 'no such rule')], [platforms, null])
  }
  const names = [...book.rulesByWindow(scopeOf('b', 'b1')).values()].flat().map(rule => rule.name)
  assert.deepEqual(
    names.toSorted(),
    DEFAULT_RULES.flatMap(rule => (rule.scope_type === 'tenant' && rule.name !== name ? [rule.name] : [])).toSorted(),
  )
})

test('a look-up reads the rules of its tenant, not those of all tenants of the account', () => {
  const [tenants, rules] = [300, 10]
  let reads = 0
  const overrides = Array.from({ length: tenants * rules }, (_, n) => {
    const { tenant_id, ...override } = anOverride('a', `t${n % tenants}`, { name: `rule ${n}` })
    return Object.defineProperty(override, 'tenant_id', {
      get: () => {
        reads++
        return tenant_id
      },
    }) as Override
  })
  const book = new RuleBook(overrides)
  for (let n = 0; n < tenants; n++) {
    const inForce = [...book.rulesByWindow(scopeOf('a', `t${n}`)).values()].flat()
    assert.equal(inForce.filter(rule => rule.name.startsWith('rule ')).length, rules)
  }
  assert.ok(reads <= 10 * tenants * rules, `${reads} for ${tenants * rules} rules`)
})
