// GET /v1/metrics: what is counted, for whom, and what is refused.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { TestClient } from '../../smtp/server/client.fixture.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { aBox, theBox, type Box } from '../../../test/support/box.ts'
import type { Api } from '../../../test/support/client.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { counted, happen, nothingBut, send, total } from './counted.fixture.ts'
import type { Counters } from './counters.ts'

const read = async (api: Api, query = ''): Promise<Counters> => {
  const { status, body } = await api.get(`/v1/metrics?${query}`)
  assert.equal(status, 200, JSON.stringify(body))
  return total(body.intervals)
}

const scoped = (type: string, value: string): string => `scope_type=${type}&scope_value=${encodeURIComponent(value)}`

const decided = (account: TestAccount, id: string, open: string[]) =>
  eventually('the attempts', async () => {
    const { body } = await account.api.get(`/v1/messages/${id}`)
    const statuses: string[] = body.deliveries.map((each: { status: string }) => each.status)
    return !statuses.some(status => open.includes(status)) && statuses.includes('complained')
  })

test('everything that becomes of a recipient is counted for each of its scopes', async t => {
  const account = await anAccount({ sandbox: true, box: await aBox({ until: t }) })
  const { box, api, tenant } = account
  const locals = ['someone', 'bounce', 'bounce-2', 'soft', 'block', 'defer', 'complain']
  const id = await send(account, { from: 'News@Acme.example', to: locals.map(local => `${local}@example.com`) })
  await decided(account, id, ['queued', 'sending'])
  box.clock.advance(70_000)
  await decided(account, id, ['queued', 'sending', 'deferred'])
  await counted(box)

  const expected = nothingBut({
    recipients: 7,
    delivered: 3,
    hard_bounces: 2,
    soft_bounces: 1,
    blocks: 1,
    deferrals: 2,
    complaints: 1,
  })
  const { body: keys } = await api.get('/v1/api-keys')
  assert.deepEqual(await read(api), expected)
  assert.deepEqual(await read(api, scoped('tenant', tenant.id.toUpperCase())), expected)
  assert.deepEqual(await read(api, scoped('domain', 'ACME.example')), expected)
  assert.deepEqual(await read(api, scoped('sender', 'News@acme.EXAMPLE')), expected)
  assert.deepEqual(await read(api, scoped('api_key', keys.keys[0].id)), expected)
  assert.deepEqual(await read(api, `${scoped('tenant', tenant.id)}&step=3600`), expected, 'from hours')
  assert.deepEqual(await read(api, scoped('domain', 'other.example')), nothingBut({}))
})

test('mail of an SMTP credential and its failed logins are counted for it, with the addresses it is used from', async t => {
  const account = await anAccount({ sandbox: true })
  const { box, api, tenant, id: accountId } = account
  const { body: credential } = await api.post(`/v1/tenants/${tenant.id}/smtp-credentials`, {})
  const client = await TestClient.open(t, box.app.ports.submission!)
  await client.hello({ username: credential.username, password: credential.password })
  const reply = await client.send('From: a@acme.example\r\nTo: you@example.com\r\nSubject: Hi\r\n\r\nHello\r\n')
  assert.match(reply, /^250/)
  const stranger = await TestClient.open(t, box.app.ports.submission!)
  await stranger.hello()
  assert.match(await stranger.login({ username: credential.username, password: 'wrong' }), /^535/)
  await eventually('both are in the journal', async () => {
    const { body } = await api.get(`/v1/events?tenant_id=${tenant.id}`)
    const types: string[] = body.events.map((event: { type: string }) => event.type)
    return types.includes('delivered') && types.includes('auth_failed')
  })
  await counted(box)
  const hour = new Date(Math.floor(box.clock.now().getTime() / 3_600_000) * 3_600_000 - 4 * 3_600_000)
  await box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`
      insert into credential_addresses (credential_id, minute, address, account_id, tenant_id)
      select ${credential.id}, ${hour}::timestamptz + after * interval '1 minute', address, ${accountId}, ${tenant.id}
      from (values (0, '192.0.2.1'), (0, '192.0.2.2'), (1, '192.0.2.1'), (119, '192.0.2.3')) as used (after, address)`),
  )

  const expected = nothingBut({ recipients: 1, delivered: 1, auth_failures: 1 })
  assert.deepEqual(await read(api, scoped('credential', credential.id)), expected)
  assert.deepEqual(await read(api, scoped('tenant', tenant.id)), expected)
  assert.deepEqual(await read(api, scoped('domain', 'acme.example')), nothingBut({ recipients: 1, delivered: 1 }))
  const until = new Date(hour.getTime() + 3 * 3_600_000)
  const window = `from=${hour.toISOString()}&to=${until.toISOString()}&step=3600`
  const { body } = await api.get(`/v1/metrics?${scoped('credential', credential.id)}&${window}`)
  assert.deepEqual(
    body.intervals.map((each: { distinct_addresses: number }) => each.distinct_addresses),
    [2, 1, 0],
  )
  const tenants = await api.get(`/v1/metrics?${scoped('tenant', tenant.id)}`)
  assert.ok(!('distinct_addresses' in tenants.body.intervals[0]))
})

test('a wrong secret counts for the key and its tenant; that of an account-wide key for no tenant', async () => {
  const account = await anAccount()
  const { box, api, tenant } = account
  const bound = (await api.post('/v1/api-keys', { name: 'k', scopes: ['read'], tenant_id: tenant.id })).body
  const wide = (await api.post('/v1/api-keys', { name: 'k', scopes: ['read'] })).body
  const wrong = (secret: string): string => secret.replace(/.$/, last => (last === 'A' ? 'B' : 'A'))
  for (const { secret } of [bound, wide, wide]) {
    assert.equal((await box.client(wrong(secret)).get('/v1/account')).status, 401)
  }
  await counted(box)

  assert.equal((await read(api)).auth_failures, 3)
  assert.equal((await read(api, scoped('tenant', tenant.id))).auth_failures, 1)
  assert.equal((await read(api, scoped('api_key', bound.id))).auth_failures, 1)
  assert.equal((await read(api, scoped('api_key', wide.id))).auth_failures, 2)
  assert.equal((await read(box.client(bound.secret))).auth_failures, 1)
})

/** A box in which nothing happens but what the test does, at a time of its choosing. */
async function aStillBox(time: string): Promise<{ box: Box; account: TestAccount }> {
  const box = await aBox({ environment: { ROLES: 'api' } })
  box.clock.set(new Date(time))
  return { box, account: await anAccount({ sandbox: true, tenants: 2, box }) }
}

test('intervals are aligned to the step, gaps are zeros, and hours, days and months end where UTC says', async () => {
  const { box, account } = await aStillBox('2026-01-31T23:58:30Z')
  const at = async (time: string, times: number): Promise<void> => {
    box.clock.set(new Date(time))
    await happen(account, { type: 'accepted', tenantId: account.tenant.id, times })
  }
  await at('2026-01-31T23:59:59.900Z', 1)
  await at('2026-02-01T00:00:00.010Z', 2)
  await at('2026-02-01T00:59:59.900Z', 4)
  await at('2026-02-01T01:00:00.010Z', 8)
  await at('2026-02-28T23:59:59.900Z', 16)
  await at('2026-03-01T00:00:00.010Z', 32)
  await counted(box)
  const series = async (query: string) => {
    const { body } = await account.api.get(`/v1/metrics?${query}`)
    return body.intervals.map((each: { start: string; recipients: number }) => [each.start, each.recipients])
  }

  assert.deepEqual(await series('from=2026-01-31T23:59:30Z&to=2026-02-01T00:01:30Z&step=60'), [
    ['2026-01-31T23:59:00.000Z', 1],
    ['2026-02-01T00:00:00.000Z', 2],
    ['2026-02-01T00:01:00.000Z', 0],
  ])
  assert.deepEqual(await series('from=2026-02-01T00:56:00%2B00:00&to=2026-02-01T01:00:01Z'), [
    ['2026-02-01T00:55:00.000Z', 4],
    ['2026-02-01T01:00:00.000Z', 8],
  ])
  assert.deepEqual(await series('from=2026-01-31T23:30:00Z&to=2026-02-01T02:00:00Z&step=3600'), [
    ['2026-01-31T23:00:00.000Z', 1],
    ['2026-02-01T00:00:00.000Z', 6],
    ['2026-02-01T01:00:00.000Z', 8],
  ])
  assert.deepEqual(await series('from=2026-01-31T00:00:00Z&to=2026-02-02T00:00:00Z&step=86400'), [
    ['2026-01-31T00:00:00.000Z', 1],
    ['2026-02-01T00:00:00.000Z', 14],
  ])
  assert.deepEqual(await series('from=2026-02-28T12:00:00Z&to=2026-03-01T00:00:01Z&step=43200'), [
    ['2026-02-28T12:00:00.000Z', 16],
    ['2026-03-01T00:00:00.000Z', 32],
  ])
  assert.equal((await read(account.api)).recipients, 48, 'the last 24 hours by default')
  const { body } = await account.api.get('/v1/metrics?to=2026-02-01T12:00:00Z')
  assert.deepEqual([body.from, body.to, body.step], ['2026-01-31T12:00:00.000Z', '2026-02-01T12:00:00.000Z', 300])
  assert.deepEqual([body.scope_type, body.scope_value, body.intervals.length], ['account', account.id, 288])
})

test('what is not a window, a step or a scope answers 400', async () => {
  const { api } = await anAccount()
  for (const query of [
    'step=0',
    'step=59',
    'step=90',
    'step=-60',
    'step=sixty',
    'step=99999999999',
    'from=yesterday',
    'from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z',
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    'from=2999-01-01T00:00:00Z',
    'to=9999-12-31T23:59:59Z',
    'to=0001-01-01T00:00:01Z',
    'to=0001-01-01T00:00:01Z&from=0001-01-01T00:00:00Z&step=31622400',
    'from=2026-01-01T00:00:00Z&to=2026-01-02T09:21:00Z&step=60',
    'scope_type=tenant',
    'scope_value=acme.example',
    'scope_type=account&scope_value=x',
    'scope_type=rule&scope_value=x',
    'scope_type=tenant&scope_value=x',
    'scope_type=credential&scope_value=x',
    'scope_type=api_key&scope_value=x',
    'scope_type=domain&scope_value=not%20a%20domain',
    'scope_type=sender&scope_value=acme.example',
    'scope_type=sender&scope_value=',
  ]) {
    assert.equal((await api.get(`/v1/metrics?${query}`)).status, 400, query)
  }
  const most = await api.get('/v1/metrics?from=2026-01-01T00:00:00Z&to=2026-01-02T09:20:00Z&step=60')
  assert.deepEqual([most.status, most.body.intervals.length], [200, 2000])
})

test("a tenant-bound key counts its own tenant's, whatever the name of the scope", async () => {
  const { box, account } = await aStillBox('2026-05-05T05:05:05Z')
  const [own, other] = [account.tenants[0]!, account.tenants[1]!]
  await send(account, { tenantId: own.id, from: 'a@shared.example' })
  await send(account, { tenantId: other.id, from: 'a@shared.example', to: ['x@example.com', 'y@example.com'] })
  await send(account, { tenantId: other.id, from: 'a@theirs.example' })
  await counted(box)
  const bound = await account.withKey({ scopes: ['read'], tenant_id: own.id })

  const recipients = async (api: Api, query = '') => (await read(api, query)).recipients
  assert.deepEqual([await recipients(account.api), await recipients(bound)], [4, 1])
  assert.deepEqual((await bound.get('/v1/metrics')).body.scope_type, 'tenant')
  for (const query of [scoped('domain', 'shared.example'), scoped('sender', 'a@shared.example')]) {
    assert.deepEqual([await recipients(account.api, query), await recipients(bound, query)], [3, 1])
  }
  const [theirs, nobodys] = await Promise.all(
    ['theirs.example', 'nobodys.example'].map(
      async name => (await bound.get(`/v1/metrics?${scoped('domain', name)}`)).body,
    ),
  )
  assert.deepEqual({ ...theirs, scope_value: '' }, { ...nobodys, scope_value: '' })
})

test("another tenant's or account's tenant, credential and key answer as an id that never was", async () => {
  const box = await theBox()
  const account = await anAccount({ tenants: 2 })
  const stranger = await anAccount()
  const bound = await account.withKey({ scopes: ['read'], tenant_id: account.tenants[1]!.id })
  const objectsOf = async ({ api, tenant }: TestAccount) => ({
    tenant: tenant.id,
    credential: (await api.post(`/v1/tenants/${tenant.id}/smtp-credentials`, {})).body.id,
    api_key: (await api.post('/v1/api-keys', { name: 'k', scopes: ['read'], tenant_id: tenant.id })).body.id,
  })
  const [own, foreign] = [await objectsOf(account), await objectsOf(stranger)]
  const wide = (await account.api.post('/v1/api-keys', { name: 'k', scopes: ['read'] })).body.id
  const outside: [Api, string, string][] = [
    ...Object.entries(foreign).map(([type, id]): [Api, string, string] => [account.api, type, id]),
    ...Object.entries({ ...foreign }).map(([type, id]): [Api, string, string] => [bound, type, id]),
    ...Object.entries(own).map(([type, id]): [Api, string, string] => [bound, type, id]),
    [bound, 'api_key', wide],
  ]

  for (const [api, type, id] of outside) {
    const { status, body } = await api.get(`/v1/metrics?${scoped(type, id)}`)
    const random = await api.get(`/v1/metrics?${scoped(type, randomUUID())}`)
    assert.deepEqual({ status, body }, { status: random.status, body: random.body })
    assert.equal(status, 404)
  }
  for (const [type, id] of Object.entries({ ...own, api_key: wide })) {
    assert.equal((await account.api.get(`/v1/metrics?${scoped(type, id)}`)).status, 200)
  }
  assert.equal((await box.client().get('/v1/metrics')).status, 401)
})
