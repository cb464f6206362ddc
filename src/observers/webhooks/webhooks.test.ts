// Webhooks as their owner sees them: creating, listing, changing, and the events that arrive.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import type { EventDraft } from '../../platform/journal/append.ts'
import { aReceiver, isSigned, type Receiver } from '../../platform/net/receiver.fixture.ts'

let box: Box
let receiver: Receiver

before(async () => {
  receiver = await aReceiver()
  box = await aBox({ environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } })
})

after(() => receiver.close())

const happen = ({ id }: TestAccount, ...events: Omit<EventDraft, 'accountId'>[]): Promise<void> =>
  box.app.world.db.transact(system('test'), async tx => {
    for (const event of events) tx.record({ ...event, accountId: id })
  })

/** A webhook at a path of its own. */
async function aWebhook(account: TestAccount, fields: object = {}) {
  const path = `/${randomUUID()}`
  const created = await account.api.post('/v1/webhooks', { url: receiver.url + path, ...fields })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return { ...created.body, path } as { id: string; secret: string; path: string }
}

const arrivals = (path: string, count: number) =>
  eventually(`${count} pushes at ${path}`, async () => {
    const list = receiver.of(path)
    return list.length >= count && list
  })

const attemptsOf = async ({ api }: TestAccount, id: string, query = '') =>
  (await api.get(`/v1/webhooks/${id}/attempts${query}`)).body.attempts

/** What was queued before has been pushed: events of an account reach its webhooks in order. */
const settled = (account: TestAccount, id: string) =>
  eventually('nothing waits', async () => (await attemptsOf(account, id, '?status=pending')).length === 0)

test('creating answers 201 with the webhook and its secret, which no later answer shows', async () => {
  const account = await anAccount({ box })

  const created = await account.api.post('/v1/webhooks', {
    url: 'https://93.184.215.14/hook?x=1#part',
    tenant_id: account.tenant.id,
    event_types: ['bounced', 'complained'],
  })

  assert.equal(created.status, 201)
  const { secret, ...webhook } = created.body
  assert.match(secret, /^whsec_[A-Za-z0-9_-]{43}$/)
  assert.deepEqual(
    { ...webhook, id: '', created_at: '' },
    {
      id: '',
      tenant_id: account.tenant.id,
      url: 'https://93.184.215.14/hook?x=1',
      event_types: ['bounced', 'complained'],
      status: 'active',
      disabled_reason: null,
      failing_since: null,
      rotated_at: null,
      created_at: '',
    },
  )
  assert.deepEqual((await account.api.get('/v1/webhooks')).body, { webhooks: [webhook], next_cursor: null })
})

test('urls of another scheme, with credentials or none at all, unknown event types and foreign tenants are refused', async () => {
  const account = await anAccount({ box })
  const stranger = await anAccount({ box })
  const url = `${receiver.url}/`
  for (const [body, status] of [
    [{ url: 'ftp://example.com/' }, 400],
    [{ url: 'file:///etc/passwd' }, 400],
    [{ url: 'javascript:alert(1)' }, 400],
    [{ url: 'https://user:pass@example.com/' }, 400],
    [{ url: 'https://user@example.com/' }, 400],
    [{ url: 'example.com/hook' }, 400],
    [{ url: `https://example.com/${'x'.repeat(2000)}` }, 400],
    [{ url: 7 }, 400],
    [{}, 400],
    [{ url, event_types: ['opened'] }, 400],
    [{ url, event_types: 'bounced' }, 400],
    [{ url, tenant_id: 'nobody' }, 400],
    [{ url, tenant_id: randomUUID() }, 404],
    [{ url, tenant_id: stranger.tenant.id }, 404],
  ] as const) {
    assert.equal((await account.api.post('/v1/webhooks', body)).status, status, JSON.stringify(body))
  }
  assert.deepEqual((await account.api.get('/v1/webhooks')).body.webhooks, [])
})

test('an event arrives as GET /v1/events shows it, signed, with the headers of the spec', async () => {
  const account = await anAccount({ box })
  const { path, secret } = await aWebhook(account)

  await happen(account, {
    type: 'bounced',
    tenantId: account.tenant.id,
    messageId: randomUUID(),
    recipient: 'zoë@example.com',
    data: { smtp_code: 550, response: 'No such user “x” – 漢字', nested: { b: 1, a: [1.5, null] } },
  })

  const [push] = await arrivals(path, 1)
  const [shown] = (await account.api.get('/v1/events')).body.events
  assert.equal(push!.body, JSON.stringify(shown))
  assert.equal(push!.headers['content-type'], 'application/json; charset=utf-8')
  assert.match(push!.headers['user-agent'] ?? '', /^Sluice/)
  assert.equal(push!.headers['x-service-event'], 'bounced')
  assert.equal(push!.headers['x-service-event-id'], String(shown.id))
  assert.equal(push!.headers['x-service-delivery-attempt'], '1')
  assert.match(String(push!.headers['x-service-signature']), /^t=\d{10},v1=[0-9a-f]{64}$/)
  assert.ok(isSigned(push!, secret, box.clock.now()))
  assert.ok(!isSigned(push!, `${secret}x`, box.clock.now()))
})

test('an empty list of types means all events, another only those; a tenant restricts to its own', async () => {
  const account = await anAccount({ box, tenants: 2 })
  const [one, two] = [account.tenants[0]!, account.tenants[1]!]
  const all = await aWebhook(account, { event_types: [] })
  const bounces = await aWebhook(account, { event_types: ['bounced'] })
  const ofOne = await aWebhook(account, { tenant_id: one.id })
  const ofTwo = await aWebhook(account, { tenant_id: two.id, event_types: ['bounced', 'delivered'] })

  await happen(
    account,
    { type: 'accepted', tenantId: one.id },
    { type: 'bounced', tenantId: one.id },
    { type: 'suspended' },
    { type: 'accepted', tenantId: two.id },
    { type: 'delivered', tenantId: two.id },
  )

  await arrivals(all.path, 5)
  for (const webhook of [all, bounces, ofOne, ofTwo]) await settled(account, webhook.id)
  const types = (path: string) =>
    receiver
      .of(path)
      .toSorted((left, right) => left.event.id - right.event.id)
      .map(push => push.event.type)
  assert.deepEqual(types(all.path), ['accepted', 'bounced', 'suspended', 'accepted', 'delivered'])
  assert.deepEqual(types(bounces.path), ['bounced'])
  assert.deepEqual(types(ofOne.path), ['accepted', 'bounced'])
  assert.deepEqual(types(ofTwo.path), ['delivered'])
})

test('a webhook gets what happens after its creation, exactly once each, and nothing of other accounts', async () => {
  const account = await anAccount({ box })
  const stranger = await anAccount({ box })
  await happen(account, { type: 'accepted', data: { n: 'before' } })
  const { path, id } = await aWebhook(account)

  await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      await happen(account, { type: 'accepted', data: { n } }, { type: 'delivered', data: { n } })
      await happen(stranger, { type: 'accepted', data: { n: 'foreign' } })
    }),
  )

  await arrivals(path, 40)
  await settled(account, id)
  const pushes = receiver.of(path)
  assert.equal(pushes.length, 40)
  assert.equal(new Set(pushes.map(push => push.event.id)).size, 40)
  assert.ok(pushes.every(push => typeof push.event.data.n === 'number'))
  const attempts = await attemptsOf(account, id)
  assert.equal(attempts.length, 40)
  assert.ok(
    attempts.every((each: { status: string; attempt: number }) => each.status === 'delivered' && each.attempt === 1),
  )
})

test('real mail makes real pushes', async () => {
  const account = await anAccount({ box, sandbox: true })
  const { path } = await aWebhook(account)
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: `${randomUUID()}.sluice.test` })
  const { domains } = (await account.api.get('/v1/domains')).body

  const sent = await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: `a@${domains[0].name}`,
    to: ['someone@example.com'],
    text: 'x',
  })

  assert.equal(sent.status, 202)
  const pushes = await arrivals(path, 2)
  assert.deepEqual(pushes.map(push => push.event.type).toSorted(), ['accepted', 'delivered'])
  assert.ok(pushes.every(push => push.event.message_id === sent.body.message_id))
})

test('while disabled nothing is pushed; enabled again it goes on with what happens from then', async () => {
  const account = await anAccount({ box })
  const { path, id } = await aWebhook(account)
  await happen(account, { type: 'accepted', data: { n: 1 } })
  await arrivals(path, 1)

  assert.equal((await account.api.patch(`/v1/webhooks/${id}`, { status: 'disabled' })).status, 204)
  await happen(account, { type: 'accepted', data: { n: 2 } })
  const other = await aWebhook(account)
  await happen(account, { type: 'accepted', data: { n: 3 } })
  await arrivals(other.path, 1)
  assert.equal((await account.api.patch(`/v1/webhooks/${id}`, { status: 'active' })).status, 204)
  await happen(account, { type: 'accepted', data: { n: 4 } })

  await arrivals(path, 2)
  await settled(account, id)
  assert.deepEqual(
    receiver.of(path).map(push => push.event.data.n),
    [1, 4],
  )
})

test('PATCH to the status it has changes nothing; anything but a status is 400; both changes are audited', async () => {
  const account = await anAccount({ box })
  const { id } = await aWebhook(account)

  assert.equal((await account.api.patch(`/v1/webhooks/${id}`, { status: 'active' })).status, 204)
  assert.equal((await account.api.patch(`/v1/webhooks/${id}`, { status: 'paused' })).status, 400)
  assert.equal((await account.api.patch(`/v1/webhooks/${id}`, {})).status, 400)
  await account.api.patch(`/v1/webhooks/${id}`, { status: 'disabled' })
  await account.api.patch(`/v1/webhooks/${id}`, { status: 'active' })

  const { entries } = (await account.api.get('/v1/audit')).body
  const own = entries.filter((entry: { target: { id: string } }) => entry.target.id === id)
  assert.deepEqual(
    own.map((entry: { action: string; after: { status: string } }) => [entry.action, entry.after.status]),
    [
      ['webhook.update', 'active'],
      ['webhook.update', 'disabled'],
      ['webhook.create', 'active'],
    ],
  )
})

test('deleting answers 204, then 404 everywhere, and nothing is pushed any more', async () => {
  const account = await anAccount({ box })
  const { path, id } = await aWebhook(account)
  const other = await aWebhook(account)

  assert.equal((await account.api.delete(`/v1/webhooks/${id}`)).status, 204)
  await happen(account, { type: 'accepted' })
  await arrivals(other.path, 1)

  assert.deepEqual(receiver.of(path), [])
  assert.equal((await account.api.delete(`/v1/webhooks/${id}`)).status, 404)
  assert.equal((await account.api.patch(`/v1/webhooks/${id}`, { status: 'active' })).status, 404)
  assert.equal((await account.api.get(`/v1/webhooks/${id}/attempts`)).status, 404)
  for (const act of ['replay', 'rotate', 'test']) {
    assert.equal((await account.api.post(`/v1/webhooks/${id}/${act}`)).status, 404, act)
  }
})

test("a tenant-bound key sees its tenant's webhooks and attempts only, and changes none", async () => {
  const account = await anAccount({ box, tenants: 2 })
  const [own, other] = [account.tenants[0]!, account.tenants[1]!]
  const mine = await aWebhook(account, { tenant_id: own.id })
  const theirs = await aWebhook(account, { tenant_id: other.id })
  const everybodys = await aWebhook(account)
  const bound = await account.withKey({ scopes: ['read', 'send'], tenant_id: own.id })

  const { body } = await bound.get('/v1/webhooks')

  assert.deepEqual(
    body.webhooks.map((webhook: { id: string }) => webhook.id),
    [mine.id],
  )
  assert.equal((await bound.get(`/v1/webhooks/${mine.id}/attempts`)).status, 200)
  for (const { id } of [theirs, everybodys]) {
    assert.equal((await bound.get(`/v1/webhooks/${id}/attempts`)).status, 404)
  }
  assert.equal((await bound.patch(`/v1/webhooks/${mine.id}`, { status: 'disabled' })).status, 403)
  assert.equal((await bound.post('/v1/webhooks', { url: receiver.url })).status, 403)
})

test("another account's webhook is 404 on every path", async () => {
  const owner = await anAccount({ box })
  const stranger = await anAccount({ box })
  const { id } = await aWebhook(owner)

  assert.equal((await stranger.api.patch(`/v1/webhooks/${id}`, { status: 'disabled' })).status, 404)
  assert.equal((await stranger.api.delete(`/v1/webhooks/${id}`)).status, 404)
  assert.equal((await stranger.api.get(`/v1/webhooks/${id}/attempts`)).status, 404)
  for (const act of ['replay', 'rotate', 'test']) {
    assert.equal((await stranger.api.post(`/v1/webhooks/${id}/${act}`)).status, 404, act)
  }
  assert.deepEqual((await stranger.api.get('/v1/webhooks')).body.webhooks, [])
})

test('webhooks and attempts are paged newest first; a cursor of another list is 400', async () => {
  const account = await anAccount({ box })
  const ids: string[] = []
  for (let n = 0; n < 3; n++) ids.push((await aWebhook(account)).id)
  const first = (await account.api.get('/v1/webhooks?limit=2')).body
  const rest = (await account.api.get(`/v1/webhooks?limit=2&cursor=${first.next_cursor}`)).body
  assert.deepEqual(
    [...first.webhooks, ...rest.webhooks].map(webhook => webhook.id),
    ids.toReversed(),
  )
  assert.equal(rest.next_cursor, null)

  await happen(account, ...Array.from({ length: 5 }, () => ({ type: 'accepted' })))
  const [id, other] = [ids[0]!, ids[1]!]
  await eventually('five delivered', async () => (await attemptsOf(account, id, '?status=delivered')).length === 5)
  const page = (await account.api.get(`/v1/webhooks/${id}/attempts?limit=3`)).body
  const last = (await account.api.get(`/v1/webhooks/${id}/attempts?limit=3&cursor=${page.next_cursor}`)).body
  const events = [...page.attempts, ...last.attempts].map(attempt => attempt.event_id)
  assert.equal(new Set(events).size, 5)
  assert.deepEqual(
    events,
    events.toSorted((left, right) => right - left),
  )
  assert.equal(last.next_cursor, null)
  for (const cursor of [first.next_cursor, 'x', `${page.next_cursor}x`]) {
    assert.equal((await account.api.get(`/v1/webhooks/${id}/attempts?cursor=${cursor}`)).status, 400)
  }
  assert.equal((await account.api.get(`/v1/webhooks/${other}/attempts?cursor=${page.next_cursor}`)).status, 400)
  assert.equal((await account.api.get(`/v1/webhooks/${id}/attempts?status=unheard_of`)).status, 400)
})

test('after a rotation both secrets sign for 24 hours, then the new one alone', async () => {
  const account = await anAccount({ box })
  const { path, id, secret: old } = await aWebhook(account)

  const rotated = await account.api.post(`/v1/webhooks/${id}/rotate`)
  const fresh: string = rotated.body.secret
  await happen(account, { type: 'accepted' })
  await arrivals(path, 1)
  box.clock.advance(24 * 3_600_000 + 1_000)
  await happen(account, { type: 'accepted' })
  const [during, afterwards] = await arrivals(path, 2)
  const nowThen = new Date(box.clock.now().getTime() - 24 * 3_600_000)

  assert.equal(rotated.status, 200)
  assert.match(fresh, /^whsec_/)
  assert.notEqual(fresh, old)
  assert.match(String(during!.headers['x-service-signature']), /^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/)
  assert.ok(isSigned(during!, old, nowThen) && isSigned(during!, fresh, nowThen))
  assert.match(String(afterwards!.headers['x-service-signature']), /^t=\d+,v1=[0-9a-f]{64}$/)
  assert.ok(isSigned(afterwards!, fresh, box.clock.now()) && !isSigned(afterwards!, old, box.clock.now()))
})

test('a secret that is rotated again within a day signs until its own end', async () => {
  const account = await anAccount({ box })
  const { path, id, secret } = await aWebhook(account)
  const rotate = async (): Promise<string> => (await account.api.post(`/v1/webhooks/${id}/rotate`)).body.secret
  const secrets = [secret, await rotate()]
  box.clock.advance(3_600_000)
  secrets.push(await rotate())
  const signedBy = async (nth: number) => {
    await happen(account, { type: 'accepted' })
    const push = (await arrivals(path, nth))[nth - 1]!
    return secrets.map(each => isSigned(push, each, box.clock.now()))
  }

  assert.deepEqual(await signedBy(1), [true, true, true])
  box.clock.advance(23 * 3_600_000 + 1_000)
  assert.deepEqual(await signedBy(2), [false, true, true])
  box.clock.advance(3_600_000)
  assert.deepEqual(await signedBy(3), [false, false, true])
})

test('a test push is signed, has a type of its own, and tells what the receiver said', async () => {
  const account = await anAccount({ box })
  const { path, id, secret } = await aWebhook(account)
  const { events: before } = (await account.api.get('/v1/events')).body

  const fine = await account.api.post(`/v1/webhooks/${id}/test`)
  receiver.answer = (_request, response) => void response.writeHead(503).end()
  const refused = await account.api.post(`/v1/webhooks/${id}/test`)
  receiver.answer = (_request, response) => void response.end()

  assert.deepEqual(
    [fine.status, fine.body.delivered, fine.body.response_status, fine.body.error],
    [200, true, 200, null],
  )
  assert.ok(fine.body.latency_ms >= 0)
  assert.deepEqual(
    [refused.status, refused.body.delivered, refused.body.response_status, refused.body.error],
    [200, false, 503, 'Answered 503.'],
  )
  const [push] = receiver.of(path)
  assert.equal(push!.headers['x-service-event'], 'test')
  assert.equal(push!.headers['x-service-event-id'], '0')
  assert.deepEqual([push!.event.type, push!.event.id, push!.event.data], ['test', 0, { test: true }])
  assert.ok(isSigned(push!, secret, box.clock.now()))
  assert.deepEqual(await attemptsOf(account, id), [])
  assert.deepEqual((await account.api.get('/v1/events')).body.events, before)
})

test('a secret is in no row, no log line, no event and no audit entry', async () => {
  const account = await anAccount({ box })
  const { path, id, secret } = await aWebhook(account)
  const fresh: string = (await account.api.post(`/v1/webhooks/${id}/rotate`)).body.secret
  await happen(account, { type: 'accepted' })
  await arrivals(path, 1)
  await account.api.post(`/v1/webhooks/${id}/test`)
  await settled(account, id)

  const tables = await box.app.world.db.many<{ name: string }>(
    sql`select tablename as name from pg_tables where schemaname = 'public'`,
  )
  assert.ok(tables.length > 10)
  for (const { name } of tables) {
    const { dump } = await box.app.world.db.one<{ dump: string }>(
      sql`select query_to_xml(${`select * from ${name}`}, true, true, '')::text as dump`,
    )
    for (const canary of [secret, fresh]) assert.ok(!dump.includes(canary.slice(6)), name)
  }
  for (const canary of [secret, fresh]) assert.ok(!box.logLines.some(line => line.includes(canary.slice(6))))
})
