// Suppressions and complaints.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'

const send = (account: TestAccount, fields: object = {}) =>
  account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: 'a@acme.example',
    to: ['someone@example.com'],
    text: 'x',
    ...fields,
  })

test('a suppressed address is skipped, whatever its case, and consumes no quota', async () => {
  const account = await anAccount({ sandbox: true })
  await account.api.patch(`/v1/tenants/${account.tenant.id}`, { quota_daily: 1 })
  const added = await account.api.post('/v1/suppressions', {
    address: 'Someone@Example.com',
    tenant_id: account.tenant.id,
    detail: 'asked by phone',
  })
  assert.equal(added.status, 201)
  assert.equal(added.body.reason, 'manual')

  const { body } = await send(account, { to: ['SOMEONE@example.com', 'other@example.com'] })

  assert.deepEqual([body.queued, body.suppressed], [1, 1])
})

test('letters that the database makes small in another way are suppressed all the same', async () => {
  const account = await anAccount({ sandbox: true })
  for (const address of ['ΟΔΟΣ@example.com', 'İx@example.com']) {
    assert.equal((await account.api.post('/v1/suppressions', { address })).status, 201)
    assert.deepEqual((await send(account, { to: [address] })).body.suppressed, 1, address)
  }
})

test('an entry without a tenant holds for every tenant of the account and for no other account', async () => {
  const account = await anAccount({ sandbox: true, tenants: 2 })
  const stranger = await anAccount({ sandbox: true })
  await account.api.post('/v1/suppressions', { address: 'someone@example.com' })

  for (const tenant of account.tenants) assert.equal((await send(account, { tenant_id: tenant.id })).body.suppressed, 1)
  assert.equal((await send(stranger)).body.suppressed, 0)
})

test('a deleted entry no longer suppresses', async () => {
  const account = await anAccount({ sandbox: true })
  const { body: entry } = await account.api.post('/v1/suppressions', { address: 'someone@example.com' })
  assert.equal((await account.api.delete(`/v1/suppressions/${entry.id}`)).status, 204)
  assert.equal((await account.api.delete(`/v1/suppressions/${entry.id}`)).status, 404)
  assert.equal((await send(account)).body.queued, 1)
})

test('the list has filters, a total and an offset', async () => {
  const account = await anAccount({ tenants: 2 })
  for (let n = 0; n < 5; n++)
    await account.api.post('/v1/suppressions', {
      address: `user${n}@example.com`,
      tenant_id: account.tenants[n % 2]!.id,
    })
  await account.api.post('/v1/suppressions', { address: 'gone@other.example', reason: 'unsubscribe' })
  const list = async (query: string) => (await account.api.get(`/v1/suppressions?${query}`)).body

  assert.equal((await list('')).total, 6)
  assert.equal((await list('limit=2&offset=5')).entries.length, 1)
  assert.equal((await list('limit=2&offset=5')).total, 6)
  assert.equal((await list('reason=unsubscribe')).total, 1)
  assert.equal((await list('q=OTHER.ex')).total, 1)
  assert.equal((await list('q=%25')).total, 0)
  assert.equal((await list(`tenant_id=${account.tenants[0]!.id}`)).total, 3)
})

test('adding an address twice answers the entry that is there', async () => {
  const { api } = await anAccount()
  const first = await api.post('/v1/suppressions', { address: 'a@example.com', reason: 'hard_bounce' })
  const second = await api.post('/v1/suppressions', { address: 'A@example.com' })
  assert.equal(second.status, 201)
  assert.deepEqual(second.body, first.body)
  assert.equal((await api.post('/v1/suppressions', { address: 'a@b.example,c@d.example' })).status, 400)
})

test('what an owner asked for outlasts a bounce, and the change is audited', async () => {
  const { api } = await anAccount()
  const bounced = await api.post('/v1/suppressions', { address: 'a@example.com', reason: 'hard_bounce', detail: '550' })
  const asked = { address: 'a@example.com', reason: 'unsubscribe', detail: 'asked by phone' }
  const { status, body } = await api.post('/v1/suppressions', asked)
  assert.deepEqual([status, body.id, body.reason, body.detail], [201, bounced.body.id, 'unsubscribe', 'asked by phone'])
  assert.deepEqual((await api.post('/v1/suppressions', { ...asked, reason: 'manual' })).body, body)
  const { entries } = (await api.get('/v1/audit?action=suppression.create')).body
  assert.deepEqual(
    entries.map((entry: { before: object | null; after: object }) => [entry.before, entry.after]),
    [
      [bounced.body, body],
      [null, bounced.body],
    ],
  )
})

test('an entry can be added again as it was shown, at another address', async () => {
  const { api } = await anAccount()
  const { body: shown } = await api.post('/v1/suppressions', { address: 'one@example.com' })
  const { status, body } = await api.post('/v1/suppressions', { ...shown, address: 'two@example.com' })
  assert.equal(status, 201)
  assert.deepEqual({ ...body, id: shown.id, created_at: shown.created_at }, { ...shown, address: 'two@example.com' })
})

test('hide_suppression_reason blanks the reason for tenant principals only', async () => {
  const account = await anAccount()
  await account.api.post('/v1/suppressions', { address: 'a@example.com', tenant_id: account.tenant.id, detail: 'why' })
  await account.api.patch('/v1/account', { hide_suppression_reason: true })
  const bound = await account.withKey({ scopes: ['read'], tenant_id: account.tenant.id })

  assert.deepEqual(
    (await bound.get('/v1/suppressions')).body.entries.map((e: { reason: unknown; detail: unknown }) => [
      e.reason,
      e.detail,
    ]),
    [[null, null]],
  )
  assert.equal((await account.api.get('/v1/suppressions')).body.entries[0].reason, 'manual')
  const adding = await account.withKey({ scopes: ['read', 'feedback'], tenant_id: account.tenant.id })
  const known = await adding.post('/v1/suppressions', { address: 'a@example.com' })
  assert.deepEqual([known.status, known.body.reason, known.body.detail], [201, null, null])
  assert.equal((await bound.get('/v1/suppressions?reason=manual')).status, 400, 'asking by it would tell')
  assert.equal((await account.api.get('/v1/suppressions?reason=manual')).body.total, 1)
})

test('a complaint outweighs an entry made for another reason; adding by hand changes nothing and is audited once', async () => {
  const account = await anAccount({ sandbox: true })
  await account.api.post('/v1/suppressions', { address: 'someone@example.com', tenant_id: account.tenant.id })
  await account.api.post('/v1/suppressions', { address: 'someone@example.com' })
  const { body: sent } = await send(account, { to: ['other@example.com'] })
  await account.api.post('/v1/suppressions', { address: 'other@example.com' })
  await account.api.post('/v1/complaints', { message_id: sent.message_id, recipient: 'other@example.com' })
  await account.api.post('/v1/complaints', { message_id: sent.message_id, recipient: 'other@example.com' })
  await Promise.all(
    Array.from({ length: 10 }, () => account.api.post('/v1/suppressions', { address: 'twin@example.com' })),
  )

  const { body } = await account.api.get('/v1/suppressions?q=other')
  assert.deepEqual(
    body.entries.map((entry: { reason: string; tenant_id: null }) => [entry.reason, entry.tenant_id]),
    [['complaint', null]],
  )
  const audited = async (action: string) => (await account.api.get(`/v1/audit?action=${action}`)).body.entries.length
  assert.equal(await audited('suppression.create'), 4)
  assert.ok((await audited('complaint.report')) <= 2)
})

test('a tenant that is not there, or is somebody else’s, has no list', async () => {
  const [account, other] = [await anAccount(), await anAccount()]
  for (const id of [other.tenant.id, crypto.randomUUID()]) {
    for (const list of ['suppressions', 'messages', 'events']) {
      assert.equal((await account.api.get(`/v1/${list}?tenant_id=${id}`)).status, 404, list)
    }
  }
})

test("a tenant's key adds to its own tenant's list", async () => {
  const account = await anAccount({ tenants: 2 })
  const bound = await account.withKey({ scopes: ['feedback', 'read'], tenant_id: account.tenant.id })
  const { body } = await bound.post('/v1/suppressions', { address: 'a@example.com' })
  assert.equal(body.tenant_id, account.tenant.id)
  assert.equal(
    (await bound.post('/v1/suppressions', { address: 'a@example.com', tenant_id: account.tenants[1]!.id })).status,
    404,
  )
})

test('a complaint marks the delivery, suppresses for the whole account, and repeats change nothing', async () => {
  const account = await anAccount({ sandbox: true, tenants: 2 })
  const { body: sent } = await send(account)
  await eventually(
    'delivered',
    async () => (await account.api.get(`/v1/messages/${sent.message_id}`)).body.counts.delivered === 1,
  )
  const report = { message_id: sent.message_id, recipient: 'SOMEONE@example.com', detail: 'spam button' }

  const first = await account.api.post('/v1/complaints', report)
  const second = await account.api.post('/v1/complaints', report)

  assert.deepEqual([first.status, first.body.complained, second.body.complained], [200, true, false])
  assert.equal((await account.api.get(`/v1/messages/${sent.message_id}`)).body.counts.complained, 1)
  assert.equal((await account.api.get('/v1/events?type=complained')).body.events.length, 1)
  assert.equal((await send(account, { tenant_id: account.tenants[1]!.id })).body.suppressed, 1)
  assert.equal((await account.api.post('/v1/complaints', { ...report, recipient: 'nobody@example.com' })).status, 404)
})

test('of two recipients that differ by case a complaint marks the one that was written so', async () => {
  const account = await anAccount({ sandbox: true })
  const to = ['Jane@example.com', 'jane@example.com', 'JANE@example.com']
  const { body: sent } = await send(account, { to })
  const message = async () => (await account.api.get(`/v1/messages/${sent.message_id}`)).body
  await eventually('delivered', async () => (await message()).counts.delivered === 3)

  for (const recipient of to.toReversed()) {
    const { body } = await account.api.post('/v1/complaints', { message_id: sent.message_id, recipient })
    assert.equal(body.complained, true, recipient)
  }
  assert.equal((await message()).counts.complained, 3)
})

test("a tenant's complaint about what was not delivered suppresses for that tenant alone", async () => {
  const account = await anAccount({ sandbox: true, tenants: 2 })
  const bound = await account.withKey({ scopes: ['feedback', 'send'], tenant_id: account.tenant.id })
  await account.api.post(`/v1/tenants/${account.tenant.id}/pause`)
  const { body: held } = await send(account, { to: ['held@example.com'] })
  const report = { message_id: held.message_id, recipient: 'held@example.com' }

  const complaint = await bound.post('/v1/complaints', report)

  assert.deepEqual([complaint.status, complaint.body.complained, complaint.body.suppressed], [200, false, true])
  const { body: list } = await account.api.get('/v1/suppressions')
  assert.deepEqual(
    list.entries.map((entry: { tenant_id: string | null }) => entry.tenant_id),
    [account.tenant.id],
  )
  const other = await send(account, { tenant_id: account.tenants[1]!.id, to: ['held@example.com'] })
  assert.equal(other.body.suppressed, 0)
})

test('a complaint about mail that is being sent waits for its outcome, or is to come again', async () => {
  const account = await anAccount({ sandbox: true })
  const { db } = account.box.app.world
  const bound = await account.withKey({ scopes: ['feedback'], tenant_id: account.tenant.id })
  await account.api.post(`/v1/tenants/${account.tenant.id}/pause`)
  const { body: sent } = await send(account)
  await db.transact(system('test'), tx =>
    tx.run(sql`update queue set status = 'sending', suspension_id = null, held_at = null, lease_token = gen_random_uuid(),
      lease_until = ${tx.now}::timestamptz + interval '1 hour' where message_id = ${sent.message_id}`),
  )
  const report = { message_id: sent.message_id, recipient: 'someone@example.com' }
  const early = await bound.post('/v1/complaints', report)
  assert.deepEqual([early.status, early.body.error?.code], [503, 'unavailable'])
  assert.ok(Number(early.headers.get('retry-after')) > 0)
  assert.equal((await account.api.get('/v1/suppressions')).body.total, 0)

  const waiting = bound.post('/v1/complaints', report)
  await db.transact(system('test'), async tx => {
    await tx.run(sql`delete from queue where message_id = ${sent.message_id}`)
    await tx.run(sql`update deliveries set status = 'delivered' where message_id = ${sent.message_id}`)
  })
  const { status, body } = await waiting
  assert.deepEqual([status, body.complained], [200, true])
})

test("a tenant's complaint about what was delivered suppresses for the whole account", async () => {
  const account = await anAccount({ sandbox: true, tenants: 2 })
  const bound = await account.withKey({ scopes: ['feedback'], tenant_id: account.tenant.id })
  const { body: sent } = await send(account)
  const counts = async () => (await account.api.get(`/v1/messages/${sent.message_id}`)).body.counts
  await eventually('delivered', async () => (await counts()).delivered === 1)

  const complaint = await bound.post('/v1/complaints', {
    message_id: sent.message_id,
    recipient: 'someone@example.com',
  })

  assert.equal(complaint.body.complained, true)
  assert.equal((await send(account, { tenant_id: account.tenants[1]!.id })).body.suppressed, 1)
})
