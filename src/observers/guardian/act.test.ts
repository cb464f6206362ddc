// What follows from a rule that fires: alerts, pauses, throttles, and when they are not repeated.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import type { World } from '../../platform/world.ts'
import { send } from '../metrics/counted.fixture.ts'
import { DEFAULT_RULES } from './defaults.ts'
import { aWatchedAccount, type Watched } from './guardian.fixture.ts'

const RULE = {
  name: 'blocks',
  metric: 'blocks',
  scope_type: 'tenant',
  window_seconds: 600,
  threshold: 5,
  action: 'alert',
}
const SUSPEND = { ...RULE, action: 'suspend' }

const resume = (world: World, id: string): Promise<unknown> =>
  world.db.transact(system('test'), tx =>
    tx.run(sql`update suspensions set status = 'resumed', resumed_at = ${tx.now} where id = ${id}`),
  )

const ack = async ({ account, alerts }: Watched, index: number): Promise<void> => {
  const alert = (await alerts())[index]!
  assert.equal((await account.api.post(`/v1/alerts/${alert.id}/ack`)).status, 204)
}

test('one alert until it is acknowledged; then another one only for what came since', async () => {
  const watched = await aWatchedAccount()
  const { pass, fired, saveRule, count, advance } = watched
  await saveRule({ ...RULE, window_seconds: 3600 })
  await count({ blocks: 6 })
  for (let n = 0; n < 3; n++) {
    await pass()
    advance(120)
    await count({ blocks: 1 })
  }
  assert.deepEqual(await fired(), ['blocks'])
  await ack(watched, 0)
  advance(60)
  await pass()
  assert.deepEqual(await fired(), ['blocks'], 'what was acknowledged is not said again')
  await count({ blocks: 6 })
  await pass()
  assert.deepEqual(await fired(), ['blocks', 'blocks'])
  await count({ blocks: 6 })
  await pass()
  assert.deepEqual(await fired(), ['blocks', 'blocks'])
})

test('one alert until it was calm for a window; then it is armed again', async () => {
  const { pass, fired, saveRule, count, advance } = await aWatchedAccount()
  await saveRule(RULE)
  await count({ blocks: 6 })
  await pass()
  advance(400)
  await pass()
  // The blocks have left the window, but it was not calm for one yet.
  advance(400)
  await pass()
  await count({ blocks: 6 })
  await pass()
  assert.deepEqual(await fired(), ['blocks'])
  advance(610)
  await pass()
  advance(610)
  await pass()
  await count({ blocks: 6 })
  await pass()
  assert.deepEqual(await fired(), ['blocks', 'blocks'])
})

test('suspend pauses the offending scope only, with evidence, as the account wants it, and is audited', async () => {
  const watched = await aWatchedAccount({ tenants: 2 })
  const { world, account, tenantId, pass, pauses, alerts, audited, count } = watched
  assert.equal((await account.api.patch('/v1/account', { suspend_mode: 'reject' })).status, 200)
  const messageId = randomUUID()
  await world.db.transact(system('test'), async tx => {
    for (let n = 0; n < 8; n++) {
      tx.record({
        type: 'bounced',
        accountId: account.id,
        tenantId,
        messageId,
        recipient: `u${n}@${n < 6 ? 'Big' : 'small'}.example`,
        data: { bounce_type: 'hard', response: '550 5.1.1 no such user' },
      })
    }
    tx.record({ type: 'delivered', accountId: account.id, tenantId, messageId, recipient: 'fine@other.example' })
  })
  await count({ delivered: 180, hard_bounces: 20 })
  const quiet = account.tenants[1]!.id
  await count({ delivered: 200 }, { tenantId: quiet, scopeValue: quiet })
  await pass()
  const [paused, ...more] = await pauses()
  assert.deepEqual(more, [])
  const rule = DEFAULT_RULES.find(each => each.name === 'hard-bounce-rate-critical')!
  const { id, evidence, ...rest } = paused!
  assert.deepEqual(rest, {
    scope_type: 'tenant',
    scope_value: tenantId,
    tenant_id: tenantId,
    only_tenant: false,
    queue_action: 'reject',
    source: 'guardian',
    rule_id: rule.id,
    status: 'active',
  })
  const { sample, ...facts } = evidence
  assert.deepEqual(facts, {
    rule_id: rule.id,
    rule: rule.name,
    metric: 'hard_bounce_rate',
    value: 0.1,
    threshold: 0.08,
    volume: 200,
    window_seconds: 3600,
    action: 'suspend',
    top_recipient_domains: [
      { domain: 'big.example', count: 6 },
      { domain: 'small.example', count: 2 },
    ],
  })
  const events = sample as { type: string; message_id: string; recipient: string; response: string }[]
  assert.equal(events.length, 5)
  for (const event of events) {
    assert.equal(event.type, 'bounced')
    assert.equal(event.message_id, messageId)
    assert.equal(event.response, '550 5.1.1 no such user')
  }
  const critical = (await alerts()).find(alert => alert.rule === rule.name)!
  assert.equal(critical.severity, 'critical')
  assert.equal(critical.data['suspension_id'], id)
  assert.equal(critical.scope, `tenant:${tenantId}`)
  assert.match(critical.title, /^Hard bounce rate of tenant \S+ is 10 % over the last hour \(limit 8 %\)\.$/)
  assert.equal(await audited('suspension.create'), 1)
  const suspended = await account.api.get('/v1/events?type=suspended')
  assert.equal(suspended.body.events.length, 1)
})

test('a sender, domain, credential or key is paused alone', async () => {
  const { account, tenantId, pass, pauses, saveRule, count } = await aWatchedAccount()
  const key = await account.api.post('/v1/api-keys', { name: 'wide', scopes: ['send'] })
  const scopes = [
    ['domain', 'acme.example'],
    ['sender', 'a@acme.example'],
    ['credential', randomUUID()],
    ['api_key', key.body.id],
  ] as const
  for (const [scopeType, scopeValue] of scopes) {
    await saveRule({ ...SUSPEND, name: scopeType, scope_type: scopeType })
    await count({ blocks: 6 }, { scopeType, scopeValue })
  }
  await pass()
  assert.deepEqual(
    (await pauses())
      .map(({ scope_type, scope_value, tenant_id, only_tenant }) => [scope_type, scope_value, tenant_id, only_tenant])
      .toSorted(),
    // A credential belongs to the tenant; others may send from the domain, or with a key of the whole account.
    scopes.map(([type, value]) => [type, value, tenantId, type !== 'credential']).toSorted(),
  )
})

test('a domain that tenants share is paused for the one whose mail was bad, and each may be paused and resumed alone', async () => {
  const { account, world, pass, pauses, saveRule, count, advance } = await aWatchedAccount({
    tenants: 2,
    sandbox: true,
  })
  const [bad, good] = account.tenants
  for (const { id } of [bad!, good!]) {
    const { status } = await account.api.post(`/v1/tenants/${id}/domains`, { name: 'shared.example' })
    assert.equal(status, 201)
  }
  const statusOf = async (tenantId: string): Promise<string> => {
    const message = { tenant_id: tenantId, from: 'a@shared.example', to: ['x@example.net'], subject: 's', text: 't' }
    const { status, body } = await account.api.post('/v1/messages', message)
    assert.equal(status, 202, JSON.stringify(body))
    return body.held === 1 ? 'held' : 'queued'
  }
  await saveRule({ ...SUSPEND, scope_type: 'domain' })
  const badly = (tenantId: string) =>
    count({ blocks: 6 }, { tenantId, scopeType: 'domain', scopeValue: 'shared.example' })
  await badly(bad!.id)
  await pass()
  assert.equal((await pauses()).length, 1)
  assert.equal(await statusOf(bad!.id), 'held')
  assert.equal(await statusOf(good!.id), 'queued')

  await badly(good!.id)
  await pass()
  assert.equal((await pauses()).length, 2)
  assert.equal(await statusOf(good!.id), 'held')
  await resume(world, (await pauses())[0]!.id)
  assert.equal(await statusOf(bad!.id), 'queued')
  assert.equal(await statusOf(good!.id), 'held')

  // The grace after a resume is the resumed tenant's own.
  advance(60)
  await badly(bad!.id)
  await pass()
  assert.equal((await pauses()).length, 2)

  const wide = await account.api.post('/v1/suspensions', { scope_type: 'domain', scope_value: 'shared.example' })
  assert.equal(wide.status, 201, 'a pause of the domain stops everybody')
  assert.deepEqual([wide.body.tenant_id, wide.body.only_tenant], [null, false])
  assert.equal(await statusOf(bad!.id), 'held')
})

test('a person who pauses a domain of one tenant stops all of it, beside the pause of that tenant', async () => {
  const { account, tenantId, pass, pauses, saveRule, count } = await aWatchedAccount({ sandbox: true })
  await account.api.post(`/v1/tenants/${tenantId}/domains`, { name: 'own.example' })
  await saveRule({ ...SUSPEND, scope_type: 'domain' })
  await count({ blocks: 6 }, { scopeType: 'domain', scopeValue: 'own.example' })
  await pass()
  const scope = { scope_type: 'domain', scope_value: 'own.example' }
  const made = await account.api.post('/v1/suspensions', scope)
  assert.deepEqual([made.status, made.body.only_tenant], [201, false])
  assert.equal((await account.api.post('/v1/suspensions', scope)).status, 200)
  assert.deepEqual(
    (await pauses()).map(pause => pause.only_tenant),
    [true, false],
  )
  // The broader of the two holds the mail.
  const message = { tenant_id: tenantId, from: 'a@own.example', to: ['x@example.net'], subject: 's', text: 't' }
  await account.api.post('/v1/messages', message)
  const { body } = await account.api.get(`/v1/suspensions/${made.body.id}`)
  assert.equal(body.held_count, 1)
})

test('a scope that is paused already is not paused again, and the alert is not repeated', async () => {
  const watched = await aWatchedAccount()
  const { pass, pauses, fired, saveRule, count, advance } = watched
  await saveRule({ ...SUSPEND, window_seconds: 3600 })
  await count({ blocks: 6 })
  await pass()
  await ack(watched, 0)
  advance(120)
  await count({ blocks: 60 })
  await pass()
  assert.equal((await pauses()).length, 1)
  assert.deepEqual(await fired(), ['blocks'])
})

test('for 15 minutes after a resume the guardian does not suspend the scope again; then for what came since', async () => {
  const { world, pass, pauses, saveRule, count, advance } = await aWatchedAccount()
  await saveRule({ ...SUSPEND, window_seconds: 3600 })
  await count({ blocks: 6 })
  await pass()
  await resume(world, (await pauses())[0]!.id)
  advance(60)
  await count({ blocks: 3 })
  await pass()
  advance(830)
  await pass()
  assert.equal((await pauses()).length, 1, '890 s after the resume')
  advance(20)
  await pass()
  assert.equal((await pauses()).length, 1, 'what was before the resume does not count again')
  await count({ blocks: 3 })
  await pass()
  assert.equal((await pauses()).length, 2, '910 s after the resume')
})

test('what happens within the grace is an alert at once and a pause when the grace is over', async () => {
  const watched = await aWatchedAccount()
  const { world, pass, pauses, fired, saveRule, count, advance } = watched
  await saveRule({ ...SUSPEND, window_seconds: 3600 })
  await count({ blocks: 6 })
  await pass()
  await ack(watched, 0)
  await resume(world, (await pauses())[0]!.id)
  advance(120)
  await count({ blocks: 6 })
  await pass()
  assert.equal((await pauses()).length, 1)
  assert.deepEqual(await fired(), ['blocks', 'blocks'])
  advance(800)
  await pass()
  assert.equal((await pauses()).length, 2)
  assert.deepEqual(await fired(), ['blocks', 'blocks'])
})

test('throttle caps the tenant at half its mean rate, and one calm window lifts it', async () => {
  const watched = await aWatchedAccount({ tenants: 2 })
  const { account, tenantId, pass, alerts, throttle, audited, count, advance } = watched
  await count({ recipients: 6000 }, { secondsAgo: 1800 })
  await count({ recipients: 6000, delivered: 150, blocks: 50 })
  await pass()
  assert.deepEqual(await throttle(), { rate_per_minute: 100, rule_name: 'block-rate-critical' })
  assert.equal(await throttle(account.tenants[1]!.id), null)
  const alert = (await alerts()).find(each => each.rule === 'block-rate-critical')!
  assert.equal(alert.data['effective_rate_per_minute'], 100)
  assert.equal(await audited('tenant.throttle'), 1)
  await pass()
  assert.equal(await audited('tenant.throttle'), 1)
  // Blocks have left the window after an hour; calm for another one.
  advance(3500)
  await pass()
  assert.ok(await throttle())
  advance(200)
  await pass()
  assert.ok(await throttle())
  advance(3500)
  await pass()
  assert.equal(await throttle(), null)
  assert.equal(await audited('tenant.unthrottle'), 1)
  const tenant = await account.api.get(`/v1/tenants/${tenantId}`)
  assert.equal(tenant.body.rate_per_minute, null, 'the configured rate is untouched')
})

test('a throttle is at least one a minute, and passes to the rule that is still over', async () => {
  const { box, pass, throttle, saveRule, count, advance, audited } = await aWatchedAccount()
  // A window of a minute is the running one: not to be crossed in between.
  box.clock.set(new Date(Math.ceil(box.clock.now().getTime() / 60_000) * 60_000 + 1_000))
  await saveRule({ ...RULE, name: 'short', action: 'throttle', window_seconds: 60 })
  await saveRule({ ...RULE, name: 'long', action: 'throttle', window_seconds: 3600, threshold: 7 })
  await count({ blocks: 6, recipients: 6 })
  await pass()
  assert.deepEqual(await throttle(), { rate_per_minute: 1, rule_name: 'short' })
  await count({ blocks: 2 })
  await pass()
  advance(200)
  await pass()
  assert.deepEqual(await throttle(), { rate_per_minute: 1, rule_name: 'long' })
  assert.equal(await audited('tenant.unthrottle'), 0)
})

test('deleting the rule lifts its throttle', async () => {
  const { account, pass, throttle, saveRule, count } = await aWatchedAccount()
  const { id } = await saveRule({ ...RULE, action: 'throttle' })
  await count({ blocks: 6, recipients: 6 })
  await pass()
  assert.ok(await throttle())
  await account.api.delete(`/v1/rules/${id}`)
  await pass()
  assert.equal(await throttle(), null)
})

test('the evidence of a credential names its failed logins', async () => {
  const { world, account, tenantId, pass, alerts, count } = await aWatchedAccount()
  const credentialId = randomUUID()
  await world.db.transact(system('test'), async tx => {
    for (const id of [credentialId, randomUUID()]) {
      const data = { credential_id: id, ip: '192.0.2.9', reason: 'wrong_password' }
      tx.record({ type: 'auth_failed', accountId: account.id, tenantId, data })
    }
  })
  await count({ auth_failures: 21 }, { scopeType: 'credential', scopeValue: credentialId })
  await pass()
  const [alert] = await alerts()
  const sample = alert!.data['sample'] as { ip: string }[]
  assert.deepEqual(
    sample.map(event => event.ip),
    ['192.0.2.9'],
  )
})

test('the evidence of a sender names its events, however the sender is written', async () => {
  const { world, account, tenantId, pass, alerts, saveRule, count } = await aWatchedAccount({ sandbox: true })
  await saveRule({ ...RULE, scope_type: 'sender' })
  const [own, other] = [await send(account, { from: 'News@acme.example' }), await send(account)]
  await world.db.transact(system('test'), async tx => {
    for (const messageId of [own, other]) {
      tx.record({ type: 'blocked', accountId: account.id, tenantId, messageId, recipient: 'someone@example.com' })
    }
  })
  await count({ blocks: 6 }, { scopeType: 'sender', scopeValue: 'news@acme.example' })
  await pass()
  const { sample, top_recipient_domains } = (await alerts())[0]!.data
  assert.deepEqual(
    (sample as { message_id: string }[]).map(event => event.message_id),
    [own],
  )
  assert.deepEqual(top_recipient_domains, [{ domain: 'example.com', count: 1 }])
})
