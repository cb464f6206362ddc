// The guardian, sentence by sentence: which rules fire and for whom.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import pg from 'pg'
import { aBox } from '../../../test/support/box.ts'
import { eventually } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { evaluate } from './evaluate.ts'
import { aWatchedAccount, count, logins, makeAlerts } from './guardian.fixture.ts'
import { listActiveScopesAnywhere } from './sums-queries.ts'
import { METRICS, type Counters, type Metric } from './metric.ts'

const HOUR = 3600
const DAY = 86_400

test('the defaults fire above their threshold, and not at it', async () => {
  const cases: { at: Partial<Counters>; above: Partial<Counters>; rules: string[] }[] = [
    {
      at: { delivered: 96, hard_bounces: 4 },
      above: { delivered: 95, hard_bounces: 5 },
      rules: ['hard-bounce-rate-warning'],
    },
    {
      at: { delivered: 184, hard_bounces: 16 },
      above: { delivered: 183, hard_bounces: 17 },
      rules: ['hard-bounce-rate-warning', 'hard-bounce-rate-critical'],
    },
    {
      at: { delivered: 1000, complaints: 1 },
      above: { delivered: 1000, complaints: 2 },
      rules: ['complaint-rate-warning'],
    },
    {
      at: { delivered: 1000, complaints: 3 },
      above: { delivered: 1000, complaints: 4 },
      rules: ['complaint-rate-warning', 'complaint-rate-critical'],
    },
    { at: { delivered: 95, blocks: 5 }, above: { delivered: 94, blocks: 6 }, rules: ['block-rate-warning'] },
    {
      at: { delivered: 160, blocks: 40 },
      above: { delivered: 159, blocks: 41 },
      rules: ['block-rate-warning', 'block-rate-critical'],
    },
    { at: { delivered: 140, deferrals: 60 }, above: { delivered: 139, deferrals: 61 }, rules: ['deferral-rate'] },
    { at: { recipients: 1_000_000_000 }, above: { recipients: 1_000_000_001 }, rules: ['volume-spike'] },
  ]
  for (const { at, above, rules } of cases) {
    const last = rules.at(-1)!
    const calm = await aWatchedAccount()
    await calm.count(at)
    const loud = await aWatchedAccount({ box: calm.box })
    await loud.count(above)
    await calm.pass()
    assert.ok(!(await calm.fired()).includes(last), `${last} fires at its threshold`)
    assert.deepEqual((await loud.fired()).toSorted(), rules.toSorted(), JSON.stringify(above))
  }
})

test('a sample below min_volume does not fire, whatever the rate', async () => {
  const { count: add, pass, fired, pauses } = await aWatchedAccount()
  await add({ hard_bounces: 99 })
  await pass()
  assert.deepEqual(await fired(), [])
  await add({ hard_bounces: 1 })
  await pass()
  assert.deepEqual(await fired(), ['hard-bounce-rate-warning'])
  assert.deepEqual(await pauses(), [])
})

test('complaint-rate-critical needs three complaints as well', async () => {
  const { count: add, pass, fired, saveRule } = await aWatchedAccount()
  await saveRule({
    name: 'complaint-rate-critical',
    metric: 'complaint_rate',
    scope_type: 'tenant',
    window_seconds: DAY,
    threshold: 0.003,
    min_volume: 100,
    min_count: 3,
    action: 'alert',
  })
  await add({ delivered: 200, complaints: 2 })
  await pass()
  assert.deepEqual(await fired(), [])
  await add({ complaints: 1 })
  await pass()
  assert.deepEqual(await fired(), ['complaint-rate-critical'])
})

test('each metric measures what it says', async () => {
  const { box, account, tenantId, world, pass, fired, saveRule, count: add } = await aWatchedAccount()
  const credentialId = randomUUID()
  const counters = {
    recipients: 50,
    delivered: 20,
    hard_bounces: 10,
    soft_bounces: 5,
    blocks: 5,
    deferrals: 10,
    complaints: 2,
    auth_failures: 7,
  }
  const values: Record<Metric, number> = {
    recipients: 50,
    hard_bounce_rate: 10 / 40,
    soft_bounce_rate: 5 / 40,
    bounce_rate: 15 / 40,
    block_rate: 5 / 40,
    complaint_rate: 2 / 40,
    deferral_rate: 10 / 50,
    auth_failures: 7,
    distinct_ips: 3,
    hard_bounces: 10,
    complaints: 2,
    blocks: 5,
    deferrals: 10,
  }
  await add(counters)
  await logins(world, { accountId: account.id, tenantId, credentialId }, 3)
  for (const metric of METRICS) {
    const rule = { metric, scope_type: 'tenant', window_seconds: HOUR, action: 'alert' }
    await saveRule({ ...rule, name: `${metric} below`, threshold: values[metric] * 0.99 })
    await saveRule({ ...rule, name: `${metric} at`, threshold: values[metric] })
  }
  await pass()
  assert.deepEqual((await fired()).toSorted(), METRICS.map(metric => `${metric} below`).toSorted())
  const alerts = await box.client(account.bearer).get('/v1/alerts')
  for (const { data } of alerts.body.alerts) assert.equal(data.value, values[data.metric as Metric], data.metric)
})

test('rules look at the scope that they name', async () => {
  const { world, account, tenantId, pass, alerts, saveRule, count: add } = await aWatchedAccount()
  const [credentialId, keyId] = [randomUUID(), randomUUID()]
  const scopes = { domain: 'acme.example', sender: 'a@acme.example', credential: credentialId, api_key: keyId } as const
  for (const [scopeType, scopeValue] of Object.entries(scopes) as [keyof typeof scopes, string][]) {
    const rule = { metric: 'blocks', scope_type: scopeType, window_seconds: 600, threshold: 2, action: 'alert' }
    await saveRule({ ...rule, name: `${scopeType} blocks` })
    await add({ blocks: 3, recipients: 3 }, { scopeType, scopeValue })
    await add({ blocks: 2, recipients: 2 }, { scopeType, scopeValue: scopeValue.replace(/^./, 'b') })
  }
  await add({ auth_failures: 21 }, { scopeType: 'credential', scopeValue: credentialId })
  await logins(world, { accountId: account.id, tenantId, credentialId }, 11)
  await pass()
  assert.deepEqual((await alerts()).map(({ rule, scope, tenant_id }) => `${rule} ${scope} ${tenant_id}`).toSorted(), [
    `api_key blocks api_key:${keyId} ${tenantId}`,
    `credential blocks credential:${credentialId} ${tenantId}`,
    `credential-auth-failures credential:${credentialId} ${tenantId}`,
    `credential-distinct-ips credential:${credentialId} ${tenantId}`,
    `domain blocks domain:acme.example ${tenantId}`,
    `sender blocks sender:a@acme.example ${tenantId}`,
  ])
})

test('ten addresses or twenty failed logins are not too many for a credential', async () => {
  const { world, account, tenantId, pass, fired, count: add } = await aWatchedAccount()
  const credentialId = randomUUID()
  await logins(world, { accountId: account.id, tenantId, credentialId }, 10)
  await logins(world, { accountId: account.id, tenantId, credentialId, secondsAgo: 2 * HOUR }, 90)
  await add({ auth_failures: 20 }, { scopeType: 'credential', scopeValue: credentialId })
  await pass()
  assert.deepEqual(await fired(), [])
})

test('what is older than the window does not count, across the ends of hours, days and months', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { pass, alerts, saveRule, count: add } = await aWatchedAccount({ box })
  const windows = [60, 600, HOUR, 5400, DAY, 7 * DAY]
  const rule = { metric: 'blocks', scope_type: 'domain', threshold: 1, action: 'alert' }
  for (const window of windows) await saveRule({ ...rule, name: `${window}`, window_seconds: window })
  const moments = [
    '2027-03-10T14:00:00.000Z',
    '2027-03-10T14:00:05.000Z',
    '2027-03-10T14:59:45.000Z',
    '2027-03-11T00:00:30.000Z',
    '2027-04-01T00:01:00.000Z',
    '2028-03-01T00:30:00.000Z',
    '2029-01-01T00:00:01.000Z',
  ]
  for (const [n, moment] of moments.entries()) {
    box.clock.set(new Date(moment))
    const scopeType = 'domain'
    for (const window of windows) {
      const [inside, outside] = [`in-${window}-${n}.example`, `out-${window}-${n}.example`]
      await add({ blocks: 1 }, { scopeType, scopeValue: inside })
      await add({ blocks: 1 }, { scopeType, scopeValue: inside, secondsAgo: window - 60 })
      await add({ blocks: 1 }, { scopeType, scopeValue: outside })
      await add({ blocks: 9 }, { scopeType, scopeValue: outside, secondsAgo: window + 60 })
    }
    await pass()
    const fired = new Set((await alerts()).map(alert => `${alert.rule} ${alert.scope}`))
    for (const window of windows) {
      assert.ok(fired.has(`${window} domain:in-${window}-${n}.example`), `${moment} ${window} inside`)
      assert.ok(!fired.has(`${window} domain:out-${window}-${n}.example`), `${moment} ${window} outside`)
    }
  }
})

test('a burst at the end of a minute is found in a window of one minute, and what two windows hold together is not', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { pass, fired, saveRule, count: add } = await aWatchedAccount({ box })
  const rule = { metric: 'recipients', scope_type: 'tenant', window_seconds: 60, action: 'alert' }
  await saveRule({ ...rule, name: 'burst', threshold: 19 })
  await saveRule({ ...rule, name: 'too-much', threshold: 20 })
  box.clock.set(new Date('2027-03-10T14:20:52.000Z'))
  await pass()
  box.clock.set(new Date('2027-03-10T14:20:57.000Z'))
  await add({ recipients: 20 })
  box.clock.set(new Date('2027-03-10T14:21:01.000Z'))
  await add({ recipients: 10 })
  await pass()
  assert.deepEqual(await fired(), [], 'the minute is not yet counted for certain')
  box.clock.set(new Date('2027-03-10T14:21:11.000Z'))
  await pass()
  assert.deepEqual(await fired(), ['burst'])
})

test('what there is no room for in the look at whole minutes is looked at again by the next pass', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { account, tenantId, pass, saveRule } = await aWatchedAccount({ box })
  const { db } = box.app.world
  const rule = { metric: 'recipients', scope_type: 'sender', window_seconds: 600, threshold: 10, action: 'alert' }
  await saveRule({ ...rule, name: 'spike', baseline_multiplier: 2 })
  box.clock.set(new Date('2027-03-10T14:08:40.000Z'))
  await pass()
  box.clock.set(new Date('2027-03-10T14:08:50.000Z'))
  await db.transact(system('test'), async tx => {
    const senders = sql`select ${account.id}::uuid, 'sender', 's' || n || '@example.com', ${tenantId}::uuid`
    for (const [table, start] of [
      [sql`metric_minutes`, new Date('2027-03-10T14:08:00.000Z')],
      [sql`metric_hours`, new Date('2027-03-10T14:00:00.000Z')],
    ] as const) {
      await tx.run(sql`
        insert into ${table} (account_id, scope_type, scope_value, tenant_id, start, recipients, delivered, hard_bounces,
          soft_bounces, blocks, deferrals, complaints, auth_failures)
        ${senders}, ${start}, 1, 0, 0, 0, 0, 0, 0, 0 from generate_series(1, 600) n`)
    }
    await tx.run(sql`
      insert into metric_activity (account_id, scope_type, scope_value, tenant_id, counted_at)
      ${senders}, ${tx.now} from generate_series(1, 600) n`)
  })
  // The window of the whole minute begins in another hour: its averages are other ones, which the pass reads as well. Both
  // are more than what is read in one pass.
  box.clock.set(new Date('2027-03-10T14:09:30.000Z'))
  const now = box.clock.now()
  await pass()

  const change = await db.one<{ changed_at: Date }>(sql`
    select changed_at from rule_changes where account_id = ${account.id}`)
  assert.ok(change.changed_at >= now, change.changed_at.toISOString())
})

test('a baseline compares with the mean of such windows in the seven days before', async () => {
  const { pass, fired, alerts, saveRule, count: add } = await aWatchedAccount()
  await saveRule({
    name: 'spike',
    metric: 'recipients',
    scope_type: 'tenant',
    window_seconds: HOUR,
    threshold: 1_000_000,
    min_volume: 100,
    baseline_multiplier: 10,
    action: 'alert',
  })
  // 24 a day is 1 an hour.
  for (let day = 1; day <= 6; day++) await add({ recipients: 24 }, { secondsAgo: day * DAY + 2 * HOUR })
  await add({ recipients: 24 }, { secondsAgo: 7 * DAY })
  // Longer ago than counts.
  await add({ recipients: 50_000 }, { secondsAgo: 8 * DAY })
  await add({ recipients: 99 })
  await pass()
  assert.deepEqual(await fired(), [], 'below min_volume')
  await add({ recipients: 1 })
  await pass()
  assert.deepEqual(await fired(), ['spike'])
  const { data } = (await alerts())[0]!
  assert.ok(Math.abs((data['baseline'] as number) - 1) < 0.05, String(data['baseline']))
  assert.equal(data['threshold'], 10 * (data['baseline'] as number))
})

test('silent days count in an average: a tenant that wakes up after a week, or sent once in it, is compared with that', async () => {
  const rule = {
    name: 'spike',
    metric: 'recipients',
    scope_type: 'tenant',
    window_seconds: HOUR,
    threshold: 1_000_000,
    min_volume: 10,
    baseline_multiplier: 2,
    action: 'alert',
  }
  const [asleep, seldom, rate] = [await aWatchedAccount(), await aWatchedAccount(), await aWatchedAccount()]
  for (const each of [asleep, seldom]) await each.saveRule(rule)
  await rate.saveRule({ ...rule, metric: 'block_rate' })
  for (const each of [asleep, seldom, rate]) await each.count({ recipients: 50 }, { secondsAgo: 20 * DAY })
  // Since that day 10 an hour; over the seven days 2, so that 5 in an hour are too much.
  await seldom.count({ recipients: 336 }, { secondsAgo: 33 * HOUR })
  await seldom.count({ recipients: 10 })
  await asleep.count({ recipients: 10 })
  await rate.count({ recipients: 10, delivered: 9, blocks: 1 })
  await asleep.pass()
  assert.deepEqual([await asleep.fired(), await seldom.fired()], [['spike'], ['spike']])
  assert.equal((await seldom.alerts())[0]!.data['baseline'], 2)
  assert.equal((await asleep.alerts())[0]!.data['baseline'], 0)
  assert.deepEqual(await rate.fired(), [], 'nothing was sent that a rate could be of: the threshold counts')
})

test('with less than 24 hours of history the threshold counts', async () => {
  const rule = {
    name: 'spike',
    metric: 'recipients',
    scope_type: 'tenant',
    window_seconds: HOUR,
    threshold: 500,
    baseline_multiplier: 2,
    action: 'alert',
  }
  const [young, old, above] = [await aWatchedAccount(), await aWatchedAccount(), await aWatchedAccount()]
  for (const each of [young, old, above]) await each.saveRule(rule)
  await young.count({ recipients: 1 }, { secondsAgo: 23 * HOUR })
  await young.count({ recipients: 500 })
  await old.count({ recipients: 1 }, { secondsAgo: 27 * HOUR })
  await old.count({ recipients: 400 })
  await above.count({ recipients: 501 })
  await young.pass()
  assert.deepEqual(await young.fired(), [])
  assert.deepEqual(await old.fired(), ['spike'])
  assert.deepEqual(await above.fired(), ['spike'])
})

test('a rule that only compares does not fire while there is no history', async () => {
  const rule = {
    name: 'spike',
    metric: 'recipients',
    scope_type: 'tenant',
    window_seconds: HOUR,
    baseline_multiplier: 2,
    action: 'alert',
  }
  const [first, young, old] = [await aWatchedAccount(), await aWatchedAccount(), await aWatchedAccount()]
  for (const each of [first, young, old]) await each.saveRule(rule)
  await young.count({ recipients: 1 }, { secondsAgo: 23 * HOUR })
  await old.count({ recipients: 24 }, { secondsAgo: 27 * HOUR })
  for (const each of [first, young, old]) await each.count({ recipients: 50 })
  await first.pass()
  assert.deepEqual([await first.fired(), await young.fired(), await old.fired()], [[], [], ['spike']])
})

test("a tenant's override wins over the account's, and deleting both restores the default", async () => {
  const { account, pass, alerts, saveRule, count: add, advance } = await aWatchedAccount({ tenants: 2 })
  const [first, second] = account.tenants.map(tenant => tenant.id) as [string, string]
  const rule = {
    name: 'deferral-rate',
    metric: 'deferral_rate',
    scope_type: 'tenant',
    window_seconds: 600,
    action: 'alert',
  }
  const accountWide = await saveRule({ ...rule, threshold: 0.5 })
  const own = await saveRule({ ...rule, threshold: 0.9, tenant_id: first })
  for (const tenantId of [first, second]) {
    await add({ delivered: 100, deferrals: 200 }, { tenantId, scopeValue: tenantId })
  }
  await pass()
  assert.deepEqual(
    (await alerts()).map(alert => alert.tenant_id),
    [second],
  )
  // Its state is over by then: 600 s of calm.
  advance(1300)
  await pass()
  assert.equal((await account.api.delete(`/v1/rules/${own.id}`)).status, 204)
  assert.equal((await account.api.delete(`/v1/rules/${accountWide.id}`)).status, 204)
  // Nothing new was counted: the change of rules alone makes the next pass look.
  await pass()
  assert.deepEqual(
    (await alerts())
      .map(alert => alert.tenant_id)
      .slice(1)
      .toSorted(),
    [first, second].toSorted(),
  )
})

test('a rule that is switched off does not fire', async () => {
  const { pass, fired, saveRule, count: add } = await aWatchedAccount()
  await saveRule({
    name: 'deferral-rate',
    metric: 'deferral_rate',
    scope_type: 'tenant',
    window_seconds: HOUR,
    action: 'alert',
    enabled: false,
  })
  await add({ deferrals: 300 })
  await pass()
  assert.deepEqual(await fired(), [])
})

test('only scopes with activity since the last pass are looked at, and a restart loses none', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { world, account, tenantId, pass, fired, count: add, advance } = await aWatchedAccount({ box, tenants: 3 })
  for (const tenant of account.tenants) await add({ delivered: 1 }, { tenantId: tenant.id, scopeValue: tenant.id })
  assert.equal((await evaluate(world))?.scopes, 3)
  advance(600)
  await pass()
  await add({ delivered: 1 })
  assert.equal((await evaluate(world))?.scopes, 1)
  advance(600)
  await evaluate(world)
  // Counted while no process was evaluating.
  await count(world, { accountId: account.id, tenantId }, { delivered: 1, hard_bounces: 100 })
  advance(1800)
  const second = await aBox({ until: t, environment: { ROLES: 'api' }, databaseUrl: box.databaseUrl })
  second.clock.set(world.clock.now())
  assert.equal((await evaluate(second.app.world))?.scopes, 1)
  await makeAlerts(second.app.world)
  assert.deepEqual(await fired(), ['hard-bounce-rate-warning'])
})

test('two processes that evaluate at once raise one alert', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { world, fired, count: add } = await aWatchedAccount({ box })
  const second = await aBox({ until: t, environment: { ROLES: 'api' }, databaseUrl: box.databaseUrl })
  await add({ delivered: 100, hard_bounces: 10 })
  const passes = await Promise.all([1, 2, 3, 4].flatMap(() => [evaluate(world), evaluate(second.app.world)]))
  assert.ok(
    passes.some(pass => pass === null),
    'none met the lock',
  )
  await evaluate(world)
  await makeAlerts(world)
  assert.deepEqual(await fired(), ['hard-bounce-rate-warning'])
})

test('an account whose act fails is served by the next pass, and keeps no other account waiting', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { world, account, pass, alerts, pauses, count: add } = await aWatchedAccount({ box, tenants: 2 })
  const other = await aWatchedAccount({ box })
  for (const { id: tenantId } of account.tenants) {
    await add({ delivered: 180, hard_bounces: 20 }, { tenantId, scopeValue: tenantId })
  }
  await other.count({ delivered: 180, hard_bounces: 20 })
  const database = await aClient(box.databaseUrl)
  await database.query(
    `alter table suspensions add constraint cut check (scope_value <> '${account.tenants[1]!.id}') not valid`,
  )
  await evaluate(world)
  await makeAlerts(world)
  assert.deepEqual(await pauses(), [])
  assert.deepEqual(await alerts(), [])
  assert.equal((await other.pauses()).length, 1)
  await database.query('alter table suspensions drop constraint cut')
  await database.end()
  for (let again = 0; again < 2; again++) {
    await pass()
    assert.equal((await pauses()).length, 2)
    assert.equal((await alerts()).length, 4)
    assert.equal((await other.alerts()).length, 2)
  }
})

test('a pass that is cut off in the middle leaves all of it to the next one', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { world, pass, alerts, pauses, count: add } = await aWatchedAccount({ box })
  await add({ delivered: 180, hard_bounces: 20 })
  const database = await aClient(box.databaseUrl)
  await database.query('begin')
  await database.query('lock table guardian_states in exclusive mode')
  const cutOff = assert.rejects(evaluate(world))
  const others = `from pg_stat_activity where datname = current_database() and application_name = 'sluice'`
  await eventually('the pass waits', async () => {
    const { rows } = await database.query(`select 1 ${others} and wait_event_type = 'Lock'`)
    return rows.length > 0
  })
  await database.query(`select pg_terminate_backend(pid) ${others} and wait_event_type = 'Lock'`)
  await database.query('rollback')
  await cutOff
  await database.end()
  assert.deepEqual(await pauses(), [])
  for (let again = 0; again < 2; again++) {
    await pass()
    assert.equal((await pauses()).length, 1)
    assert.equal((await alerts()).length, 2)
  }
})

test('while a pass acts no other begins, and one that has outlived its lease leaves the pass to the next', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { world, pass, alerts, pauses, advance, count: add } = await aWatchedAccount({ box })
  await add({ delivered: 180, hard_bounces: 20 })
  const database = await aClient(box.databaseUrl)
  await database.query('begin')
  await database.query('lock table guardian_states in exclusive mode')
  const slow = evaluate(world)
  await eventually('the pass acts', async () => {
    const { rows } = await database.query('select 1 from guardian_pass where lease_until is not null')
    return rows.length > 0
  })

  assert.equal(await evaluate(world), null)
  advance(31)
  const next = evaluate(world)
  await eventually('the next one acts as well', async () => {
    const { rows } = await database.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length === 2
  })
  await database.query('rollback')
  await database.end()

  assert.ok(await slow)
  assert.ok(await next)
  await pass()
  assert.equal((await pauses()).length, 1)
  assert.equal((await alerts()).length, 2)
})

async function aClient(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return client
}

test('an account with hundreds of windows of its own keeps nobody waiting, and all of its rules fire in the end', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const [heavy, other] = [await aWatchedAccount({ box }), await aWatchedAccount({ box })]
  const { db } = box.app.world
  // More than the API lets an account have: as if many tenants had theirs.
  await db.transact(system('test'), tx =>
    tx.run(sql`
      insert into rules (id, account_id, name, metric, scope_type, window_seconds, threshold, min_volume, min_count, action,
        severity, enabled, created_at, updated_at)
      select gen_random_uuid(), ${heavy.account.id}::uuid, 'rule ' || n, 'recipients', 'tenant', 7200 + 60 * n, 1, 0, 0,
        'alert', 'info', true, ${tx.now}, ${tx.now}
      from generate_series(1, 250) n`),
  )
  await other.saveRule({
    name: 'mine',
    metric: 'recipients',
    scope_type: 'tenant',
    window_seconds: 7260,
    threshold: 1,
    action: 'alert',
  })
  await heavy.count({ recipients: 5, delivered: 180, hard_bounces: 40 })
  await other.count({ recipients: 5, delivered: 180, hard_bounces: 40 })

  const began = box.clock.now()
  await heavy.pass()

  const platform = ['hard-bounce-rate-critical', 'hard-bounce-rate-warning']
  assert.deepEqual((await other.fired()).toSorted(), [...platform, 'mine'])
  const first = await heavy.fired()
  assert.ok(first.length <= 100, `${first.length} at once`)
  assert.ok(
    platform.every(rule => first.includes(rule)),
    'the platform’s own among them',
  )
  const pass = () => db.one<{ evaluated_at: Date }>(sql`select evaluated_at from guardian_pass`)
  assert.ok((await pass()).evaluated_at >= began, 'for the others it goes on from here')
  let passes = 1
  for (; (await heavy.fired()).length < 252 && passes < 12; passes++) {
    heavy.advance(10)
    await heavy.pass()
  }
  const fired = await heavy.fired()
  assert.equal(new Set(fired).size, 252, `after ${passes} passes`)
  assert.equal(fired.length, 252, 'each once')
  const states = await db.many(sql`select 1 from guardian_states where account_id = ${heavy.account.id}`)
  assert.equal(states.length, 252, 'what was beyond the limit of a pass is not calm')
})

test('of an account with very many scopes the passes of an hour look at some, at others the next hour, and at all of the others', async () => {
  const {
    world,
    account,
    count: add,
    tenantId,
  } = await aWatchedAccount({ box: await aBox({ environment: { ROLES: 'api' } }) })
  const small = await aWatchedAccount({ box: account.box })
  await small.count({ recipients: 1 })
  await add({ recipients: 1 })
  for (let n = 0; n < 40; n++) {
    await add({ recipients: 1 }, { scopeType: 'sender', scopeValue: `s${n}@example.com` })
  }
  const overrides = [{ account_id: account.id, scope_type: 'sender' as const }]
  const now = world.clock.now()
  const since = new Date(now.getTime() - 60_000)
  const look = (moment: Date) =>
    listActiveScopesAnywhere(world.db, { since, longSince: since, now: moment }, { overrides, perAccount: 10 })
  const seen = new Set<string>()
  for (let n = 0; n < 40; n++) {
    const moment = new Date(now.getTime() + n * HOUR * 1000)
    const { scopes, cut } = await look(moment)
    const endOfHour = new Date(Math.ceil((moment.getTime() + 1) / HOUR / 1000) * HOUR * 1000 - 1)
    assert.deepEqual(await look(endOfHour), { scopes, cut }, 'what was read of them is read once in an hour')
    assert.deepEqual([...cut], [account.id])
    const own = scopes.filter(scope => scope.account_id === account.id)
    assert.equal(own.length, 10)
    assert.ok(
      own.some(scope => scope.scope_value === tenantId),
      'tenants first',
    )
    assert.equal(scopes.length, 11)
    for (const scope of own) seen.add(scope.scope_value)
  }
  assert.ok(seen.size > 30, `${seen.size} of 41`)
})
