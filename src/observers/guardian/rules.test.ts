// Rules over the API: what is in force, saving, deleting, trying out.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { DEFAULT_RULES } from './defaults.ts'
import { upsertRuleChanges } from './queries.ts'
import { aWatchedAccount, logins } from './guardian.fixture.ts'

const RULE = {
  name: 'my rule',
  metric: 'hard_bounce_rate',
  scope_type: 'tenant',
  window_seconds: 3600,
  threshold: 0.5,
  action: 'alert',
}

interface RuleView {
  id: string
  name: string
  source: string
  tenant_id: string | null
  threshold: number
}

test('a new account has the ten defaults, with the ids that every account has', async () => {
  const [first, second] = [await aWatchedAccount(), await aWatchedAccount()]
  const { rules, next_cursor } = (await first.account.api.get('/v1/rules')).body
  assert.equal(next_cursor, null)
  assert.deepEqual(
    rules.map((rule: RuleView & { [name: string]: unknown }) => {
      const { source, tenant_id, created_at, updated_at, ...rest } = rule
      assert.deepEqual(
        { source, tenant_id, created_at, updated_at },
        {
          source: 'default',
          tenant_id: null,
          created_at: null,
          updated_at: null,
        },
      )
      return rest
    }),
    DEFAULT_RULES,
  )
  assert.deepEqual((await second.account.api.get('/v1/rules')).body.rules, rules)
  assert.deepEqual(
    DEFAULT_RULES.map(
      ({ name, threshold, window_seconds, min_volume, action, severity, scope_type, baseline_multiplier }) =>
        `${name} ${scope_type} ${threshold}/${window_seconds}/${min_volume} x${baseline_multiplier} ${action} ${severity}`,
    ),
    [
      'hard-bounce-rate-warning tenant 0.04/3600/100 xnull alert warning',
      'hard-bounce-rate-critical tenant 0.08/3600/200 xnull suspend critical',
      'complaint-rate-warning tenant 0.001/86400/1000 xnull alert warning',
      'complaint-rate-critical tenant 0.003/86400/1000 xnull suspend critical',
      'block-rate-warning tenant 0.05/3600/100 xnull alert warning',
      'block-rate-critical tenant 0.2/3600/200 xnull throttle critical',
      'deferral-rate tenant 0.3/3600/200 xnull alert warning',
      'volume-spike tenant 1000000000/3600/1000 x10 throttle warning',
      'credential-auth-failures credential 20/600/0 xnull alert warning',
      'credential-distinct-ips credential 10/3600/0 xnull alert warning',
    ],
  )
})

test('a rule with the name of a default replaces it, and deleting it restores the default', async () => {
  const { account, audited } = await aWatchedAccount()
  const named = async (): Promise<RuleView[]> =>
    (await account.api.get('/v1/rules')).body.rules.filter((rule: RuleView) => rule.name === 'deferral-rate')
  const [original] = await named()
  const saved = await account.api.put('/v1/rules', { ...RULE, name: 'deferral-rate', enabled: false })
  assert.equal(saved.body.source, 'override')
  assert.deepEqual(await named(), [saved.body])
  assert.notEqual(saved.body.id, original!.id)
  assert.equal((await account.api.delete(`/v1/rules/${saved.body.id}`)).status, 204)
  assert.deepEqual(await named(), [original])
  assert.equal((await account.api.delete(`/v1/rules/${saved.body.id}`)).status, 404)
  assert.equal((await account.api.delete(`/v1/rules/${original!.id}`)).status, 404)
  assert.equal(await audited('rule.save'), 1)
  assert.equal(await audited('rule.delete'), 1)
})

test('saving again replaces by name and tenant, keeps the id, and is audited when something changed', async () => {
  const { account, tenantId, audited } = await aWatchedAccount()
  const first = await account.api.put('/v1/rules', RULE)
  assert.deepEqual(
    { ...first.body, id: '', created_at: '', updated_at: '' },
    {
      ...RULE,
      id: '',
      tenant_id: null,
      min_volume: 0,
      min_count: 0,
      baseline_multiplier: null,
      severity: 'warning',
      enabled: true,
      source: 'override',
      created_at: '',
      updated_at: '',
    },
  )
  const same = await account.api.put('/v1/rules', first.body)
  assert.deepEqual(same.body, first.body)
  assert.equal(await audited('rule.save'), 1)
  const changed = await account.api.put('/v1/rules', { ...RULE, threshold: 0.6, severity: 'critical' })
  assert.equal(changed.body.id, first.body.id)
  const ofTenant = await account.api.put('/v1/rules', { ...RULE, tenant_id: tenantId })
  assert.notEqual(ofTenant.body.id, first.body.id)
  assert.equal(await audited('rule.save'), 3)
})

test('deleting a rule locks in the order in which saving does: two at once wait, and do not deadlock', async () => {
  const { account, world } = await aWatchedAccount()
  const { db } = world
  const { body: rule } = await account.api.put('/v1/rules', RULE)
  let deleting: Promise<{ status: number }> | undefined
  await db.transact(system('test'), async tx => {
    await upsertRuleChanges(tx, new Set([account.id]))
    deleting = account.api.delete(`/v1/rules/${rule.id}`)
    await eventually('the other waits', () =>
      db.maybe(sql`
        select pid from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' limit 1`),
    )
    await tx.run(sql`select from rules where id = ${rule.id} for update nowait`)
  })
  assert.equal((await deleting)?.status, 204)
})

test('saving what is there already does not make the guardian look at the account again', async () => {
  const { account, world, advance } = await aWatchedAccount()
  const changedAt = async () =>
    (
      await world.db.one<{ changed_at: Date }>(
        sql`select changed_at from rule_changes where account_id = ${account.id}`,
      )
    ).changed_at
  await account.api.put('/v1/rules', RULE)
  const first = await changedAt()
  advance(10)
  assert.equal((await account.api.put('/v1/rules', RULE)).status, 200)
  assert.deepEqual(await changedAt(), first)
  await account.api.put('/v1/rules', { ...RULE, threshold: 0.7 })
  assert.ok((await changedAt()) > first)
})

test('the list says what is in force: for the account with all overrides, or for one tenant', async () => {
  const { account, saveRule } = await aWatchedAccount({ tenants: 2 })
  const [one, two] = account.tenants.map(tenant => tenant.id) as [string, string]
  const wide = await saveRule(RULE)
  const own = await saveRule({ ...RULE, tenant_id: one, threshold: 0.9 })
  const idsOf = async (path: string, api = account.api): Promise<string[]> =>
    (await api.get(path)).body.rules
      .filter((rule: RuleView) => rule.source === 'override')
      .map((rule: RuleView) => rule.id)
  assert.deepEqual(await idsOf('/v1/rules'), [wide.id, own.id])
  assert.deepEqual(await idsOf(`/v1/rules?tenant_id=${one}`), [own.id])
  assert.deepEqual(await idsOf(`/v1/rules?tenant_id=${two}`), [wide.id])
  const bound = await account.withKey({ scopes: ['read'], tenant_id: two })
  assert.deepEqual(await idsOf('/v1/rules', bound), [wide.id])
  assert.equal((await bound.get(`/v1/rules?tenant_id=${one}`)).status, 404)
  assert.equal((await bound.get('/v1/rules')).body.rules.length, 11)
})

test('rules come in pages, those of single tenants last', async () => {
  const { account, saveRule } = await aWatchedAccount({ tenants: 3 })
  for (const { id: tenant_id } of account.tenants) await saveRule({ ...RULE, tenant_id })
  const whole = (await account.api.get('/v1/rules')).body
  assert.equal(whole.rules.length, 13)
  assert.equal(whole.next_cursor, null)
  const paged: RuleView[] = []
  for (let cursor = ''; ;) {
    const { body } = await account.api.get(`/v1/rules?limit=3${cursor}`)
    assert.equal(body.rules.length, paged.length < 12 ? 3 : 1)
    paged.push(...body.rules)
    if (body.next_cursor === null) break
    cursor = `&cursor=${body.next_cursor}`
  }
  assert.deepEqual(paged, whole.rules)
  const ofTenant = (await account.api.get(`/v1/rules?limit=4&tenant_id=${account.tenants[0]!.id}`)).body
  assert.equal(ofTenant.rules.length, 4)
  assert.notEqual(ofTenant.next_cursor, null)
  assert.equal((await account.api.get('/v1/rules?cursor=forged.cursor')).status, 400)
})

test('absurd numbers and unknown words are 400, with the name of the field', async () => {
  const { account } = await aWatchedAccount()
  const wrong: [string, unknown][] = [
    ['window_seconds', 59],
    ['window_seconds', 604_801],
    ['window_seconds', 60.5],
    ['window_seconds', '3600'],
    ['threshold', -0.1],
    ['threshold', 1e308],
    ['threshold', null],
    ['threshold', 'high'],
    ['min_volume', -1],
    ['min_volume', 0.5],
    ['min_volume', 1e300],
    ['min_count', -1],
    ['baseline_multiplier', 0],
    ['baseline_multiplier', -1],
    ['baseline_multiplier', 1e16],
    ['metric', 'opens'],
    ['scope_type', 'account'],
    ['scope_type', 'rule'],
    ['action', 'delete'],
    ['severity', 'fatal'],
    ['enabled', 1],
    ['name', ''],
    ['name', ' '],
    ['name', 'x'.repeat(101)],
    ['tenant_id', 'nobody'],
  ]
  for (const [field, value] of wrong) {
    const { status, body } = await account.api.put('/v1/rules', { ...RULE, [field]: value })
    assert.equal(status, 400, `${field} ${String(value)}`)
    assert.ok(body.error.message.startsWith(field), body.error.message)
  }
  const infinite = JSON.stringify(RULE).replace('"threshold":0.5', '"threshold":1e999')
  assert.equal((await account.api.put('/v1/rules', infinite)).status, 400)
  for (const field of ['name', 'metric', 'scope_type', 'window_seconds', 'action']) {
    const { status, body } = await account.api.put('/v1/rules', { ...RULE, [field]: undefined })
    assert.equal(status, 400)
    assert.equal(body.error.message, `${field} is required.`)
  }
  for (const edge of [{ window_seconds: 60 }, { window_seconds: 604_800 }, { threshold: 0 }, { threshold: 1e15 }]) {
    assert.equal((await account.api.put('/v1/rules', { ...RULE, ...edge })).status, 200)
  }
})

test('there is a limit to the number of rules', async () => {
  const { account } = await aWatchedAccount()
  for (let n = 0; n < 100; n++) {
    assert.equal((await account.api.put('/v1/rules', { ...RULE, name: `rule ${n}` })).status, 200)
  }
  assert.equal((await account.api.put('/v1/rules', { ...RULE, name: 'one more' })).status, 409)
  assert.equal((await account.api.put('/v1/rules', { ...RULE, name: 'rule 7', threshold: 1 })).status, 200)
})

test('there is a limit to the rules of all tenants together', async () => {
  const { account, world, tenantId } = await aWatchedAccount({ tenants: 2 })
  // As if many tenants had theirs.
  await world.db.transact(system('test'), tx =>
    tx.run(sql`
      insert into rules (id, account_id, tenant_id, name, metric, scope_type, window_seconds, threshold, min_volume,
        min_count, action, severity, enabled, created_at, updated_at)
      select gen_random_uuid(), ${account.id}::uuid, ${account.tenants[1]!.id}::uuid, 'rule ' || n, 'blocks', 'tenant', 60, 1, 0, 0,
        'alert', 'info', true, ${tx.now}, ${tx.now}
      from generate_series(1, 9999) n`),
  )
  const save = async (tenant_id: string | null, fields: object = {}) =>
    (await account.api.put('/v1/rules', { ...RULE, tenant_id, ...fields })).status
  assert.equal(await save(tenantId), 200)
  assert.deepEqual([await save(null), await save(tenantId, { name: 'one more' })], [409, 409])
  assert.equal(await save(tenantId, { threshold: 0.9 }), 200)
})

const ago = (box: { clock: { now(): Date } }, seconds: number): string =>
  new Date(box.clock.now().getTime() - seconds * 1000).toISOString()

test('a rule is tried out over stored metrics without any effect', async () => {
  const { box, account, tenantId, count, fired, audited } = await aWatchedAccount({ tenants: 2 })
  const second = account.tenants[1]!.id
  await count({ delivered: 40, hard_bounces: 60 }, { secondsAgo: 5 * 3600 })
  await count({ delivered: 10, hard_bounces: 90 }, { secondsAgo: 4.5 * 3600 })
  await count({ delivered: 40, hard_bounces: 60 }, { secondsAgo: 2 * 3600 })
  await count({ delivered: 100 }, { secondsAgo: 3600, tenantId: second, scopeValue: second })
  await count({ hard_bounces: 100 }, { secondsAgo: 20 * 3600 })
  const test = { ...RULE, from: ago(box, 6 * 3600), to: ago(box, 0) }
  const { status, body } = await account.api.post('/v1/rules/test', test)
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.evaluated, 2)
  assert.equal(body.firings.length, 2)
  const [first, next] = body.firings
  assert.deepEqual(
    { scope: first.scope, peak: first.peak_value, threshold: first.threshold, volume: first.volume },
    { scope: `tenant:${tenantId}`, peak: 0.75, threshold: 0.5, volume: 200 },
  )
  assert.ok(Date.parse(first.to) - Date.parse(first.from) >= 1740_000)
  assert.equal(next.peak_value, 0.6)
  const quiet = await account.api.post('/v1/rules/test', { ...test, tenant_id: second })
  assert.deepEqual(quiet.body, { firings: [], evaluated: 1 })
  const bound = await account.withKey({ scopes: ['read'], tenant_id: second })
  assert.deepEqual((await bound.post('/v1/rules/test', test)).body, { firings: [], evaluated: 1 })
  assert.equal((await bound.post('/v1/rules/test', { ...test, tenant_id: tenantId })).status, 404)
  assert.deepEqual(await fired(), [])
  assert.equal(await audited('rule.save'), 0)
})

test('a trial takes names as they are written, as pauses and metrics do', async () => {
  const { box, account, count } = await aWatchedAccount()
  await count({ hard_bounces: 100 }, { secondsAgo: 600, scopeType: 'domain', scopeValue: 'ex.test' })
  await count({ hard_bounces: 100 }, { secondsAgo: 600, scopeType: 'sender', scopeValue: 'news@ex.test' })
  const period = { from: ago(box, 7200), to: ago(box, 0) }
  for (const [scope_type, scope_value] of Object.entries({ domain: 'EX.test', sender: 'News@EX.test' })) {
    const { body } = await account.api.post('/v1/rules/test', { ...RULE, ...period, scope_type, scope_value })
    assert.deepEqual([body.evaluated, body.firings.length], [1, 1], scope_value)
  }
})

test('a trial knows averages, logins and single scopes', async () => {
  const { box, account, world, tenantId, count } = await aWatchedAccount()
  const [credentialId, other] = [randomUUID(), randomUUID()]
  for (let day = 1; day <= 7; day++) await count({ recipients: 240 }, { secondsAgo: day * 86_400 })
  await count({ recipients: 500 }, { secondsAgo: 600 })
  const spike = { ...RULE, metric: 'recipients', threshold: 1e6, from: ago(box, 7200), to: ago(box, 0) }
  const compared = await account.api.post('/v1/rules/test', { ...spike, baseline_multiplier: 10 })
  assert.equal(compared.body.firings.length, 1)
  assert.ok(Math.abs(compared.body.firings[0].threshold - 100) < 15, JSON.stringify(compared.body))
  assert.deepEqual((await account.api.post('/v1/rules/test', spike)).body.firings, [])
  await logins(world, { accountId: account.id, tenantId, credentialId, secondsAgo: 900 }, 8)
  await logins(world, { accountId: account.id, tenantId, credentialId: other, secondsAgo: 900 }, 12)
  const ips = { ...spike, metric: 'distinct_ips', scope_type: 'credential', threshold: 5 }
  const both = await account.api.post('/v1/rules/test', ips)
  assert.deepEqual(both.body.firings.map((firing: { peak_value: number }) => firing.peak_value).toSorted(), [12, 8])
  const one = await account.api.post('/v1/rules/test', { ...ips, scope_value: credentialId })
  assert.deepEqual([one.body.evaluated, one.body.firings.length], [1, 1])
})

test('a trial counts silent days of a scope that is known for longer', async () => {
  const { box, account, count } = await aWatchedAccount()
  await count({ recipients: 1 }, { secondsAgo: 30 * 86_400 })
  await count({ recipients: 168 }, { secondsAgo: 2 * 86_400 })
  await count({ recipients: 50 }, { secondsAgo: 600 })
  const period = { from: ago(box, 7200), to: ago(box, 0) }
  const spike = { ...RULE, ...period, metric: 'recipients', threshold: 1e6, baseline_multiplier: 10 }
  const { body } = await account.api.post('/v1/rules/test', spike)
  assert.deepEqual(
    body.firings.map((firing: { threshold: number }) => firing.threshold),
    [10],
  )
})

test('a trial of a rule that only compares finds nothing where there is no history', async () => {
  const { box, account, count } = await aWatchedAccount()
  await count({ recipients: 500 }, { secondsAgo: 600 })
  const period = { from: ago(box, 7200), to: ago(box, 0) }
  const { threshold: _, ...compared } = { ...RULE, ...period, metric: 'recipients', baseline_multiplier: 10 }
  const { status, body } = await account.api.post('/v1/rules/test', compared)
  assert.deepEqual([status, body.evaluated, body.firings], [200, 1, []])
})

test('a trial of more than 31 days, or backwards, is 400', async () => {
  const { box, account } = await aWatchedAccount()
  const post = (from: string, to: string) => account.api.post('/v1/rules/test', { ...RULE, from, to })
  assert.equal((await post(ago(box, 32 * 86_400), ago(box, 0))).status, 400)
  assert.equal((await post(ago(box, 0), ago(box, 60))).status, 400)
  // A second less: the clock goes on between the two.
  assert.equal((await post(ago(box, 31 * 86_400 - 1), ago(box, 0))).status, 200)
  assert.equal((await post('yesterday', ago(box, 0))).status, 400)
})
