// Mail that was set aside: seen, released, cancelled, with pauses respected and every step on record.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { createMetrics } from '../../platform/metrics.ts'
import { courierOver } from '../delivery/courier.fixture.ts'
import { Holder } from '../delivery/holder.ts'
import { reclaim } from '../delivery/reclaim.ts'

let shared: Promise<Box> | null = null
/** Without workers: the tests do what they do. */
const aQuietBox = (): Promise<Box> => (shared ??= aBox({ environment: { ROLES: 'api' } }))

const anOwner = async (tenants = 1) => anAccount({ box: await aQuietBox(), sandbox: true, tenants })

/** A message of which three workers died; answers its id. */
async function poison(account: TestAccount, fields: object = {}): Promise<string> {
  const { box } = account
  const message = { tenant_id: account.tenant.id, from: 'a@acme.example', to: ['u@example.com'], text: 'x', ...fields }
  const sent = await account.api.post('/v1/messages', message)
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  const { world } = box.app
  const judge = new Holder(world)
  await judge.beat()
  await world.db.transact(system('test'), async tx => {
    await tx.run(
      sql`update holders set steady_since = ${tx.now}::timestamptz - interval '1 hour' where id = ${judge.id}`,
    )
    await tx.run(sql`
      update queue set status = 'sending', crashes = 2, is_suspect = true, is_begun = true, lease_token = gen_random_uuid(),
        lease_until = ${tx.now}::timestamptz - interval '1 second', holder_id = gen_random_uuid()
      where message_id = ${sent.body.message_id}`)
  })
  await reclaim(world, judge)
  return sent.body.message_id
}

const listed = async ({ api }: TestAccount, query = '') => (await api.get(`/v1/set-aside${query}`)).body

const eventTypes = async ({ api }: TestAccount, id: string): Promise<string[]> =>
  (await api.get(`/v1/events?message_id=${id}`)).body.events.map((event: { type: string }) => event.type)

const deliveryOf = async ({ api }: TestAccount, id: string) => (await api.get(`/v1/messages/${id}`)).body.deliveries[0]

const auditOf = async ({ api }: TestAccount, action: string) =>
  (await api.get('/v1/audit')).body.entries.filter((entry: { action: string }) => entry.action === action)

test('what was set aside is listed with its reason, newest first, page by page and by tenant', async () => {
  const account = await anOwner(2)
  const ids = [await poison(account), await poison(account)]
  const elsewhere = await poison(account, { tenant_id: account.tenants[1]!.id })
  const { deliveries, next_cursor } = await listed(account)
  assert.equal(next_cursor, null)
  assert.deepEqual(
    deliveries.map((each: { message_id: string }) => each.message_id),
    [elsewhere, ids[1], ids[0]],
  )
  const { id: _, set_aside_at, ...first } = deliveries[2]
  assert.deepEqual(first, {
    message_id: ids[0],
    tenant_id: account.tenant.id,
    recipient: 'u@example.com',
    reason: 'crashes',
    crashes: 3,
    attempts: 0,
  })
  assert.ok(Math.abs(Date.parse(set_aside_at) - account.box.clock.now().getTime()) < 60_000)
  const own = await listed(account, `?tenant_id=${account.tenant.id}&limit=1`)
  assert.equal(own.deliveries[0].message_id, ids[1])
  const next = await listed(account, `?tenant_id=${account.tenant.id}&limit=1&cursor=${own.next_cursor}`)
  assert.deepEqual([next.deliveries[0].message_id, next.next_cursor], [ids[0], null])
  assert.equal((await account.api.get(`/v1/set-aside?tenant_id=${randomUUID()}`)).status, 404)
  assert.deepEqual((await listed(await anOwner())).deliveries, [])
  const anomalies = (await account.api.get('/v1/events?type=anomaly_detected')).body.events
  assert.deepEqual([anomalies.length, anomalies[0].data.kind], [3, 'message_set_aside'])
})

test('a released delivery is sent, with its crashes forgotten, once', async () => {
  const account = await anOwner()
  const messageId = await poison(account)
  const [aside] = (await listed(account)).deliveries
  const released = await account.api.post(`/v1/set-aside/${aside.id}/release`)
  assert.equal(released.status, 200)
  assert.deepEqual(released.body, {
    id: aside.id,
    message_id: messageId,
    tenant_id: account.tenant.id,
    recipient: 'u@example.com',
    status: 'queued',
    suspension_id: null,
  })
  assert.equal((await account.api.post(`/v1/set-aside/${aside.id}/release`)).status, 404)
  assert.equal((await account.api.post(`/v1/set-aside/${aside.id}/cancel`)).status, 404)
  const world = { ...account.box.app.world, metrics: createMetrics() }
  const [row] = await world.db.many(sql`
    select crashes, is_suspect, set_aside_id, suspension_id, held_at from queue where message_id = ${messageId}`)
  assert.deepEqual(row, { crashes: 0, is_suspect: false, set_aside_id: null, suspension_id: null, held_at: null })
  const transport = { send: () => Promise.reject(new Error('sandbox')) }
  const courier = courierOver(world, transport)
  await courier.takeNext(new AbortController().signal)
  await eventually('it is delivered', async () => (await deliveryOf(account, messageId)).status === 'delivered')
  assert.deepEqual(await eventTypes(account, messageId), [
    'delivered',
    'released',
    'anomaly_detected',
    'held',
    'accepted',
  ])
  const [entry, ...more] = await auditOf(account, 'set_aside.release')
  assert.deepEqual([entry.target, entry.before.crashes, more.length], [{ type: 'delivery', id: aside.id }, 3, 0])
})

test('as many releases at once as an account has connections, and more, are all answered', async () => {
  const account = await anOwner()
  await Promise.all(Array.from({ length: 12 }, () => poison(account)))
  const { deliveries } = await listed(account)
  assert.equal(deliveries.length, 12)

  const began = performance.now()
  const replies = await Promise.all(
    deliveries.map(({ id }: { id: string }) => account.api.post(`/v1/set-aside/${id}/release`)),
  )

  assert.deepEqual([...new Set(replies.map(reply => reply.status))], [200])
  assert.ok(performance.now() - began < 4_000)
  const ranks = await account.box.app.world.db.many(sql`
    select distinct rank from queue where account_id = ${account.id} and status = 'queued'`)
  assert.equal(ranks.length, 12)
})

test('a cancelled delivery is over', async () => {
  const account = await anOwner()
  const messageId = await poison(account)
  const [aside] = (await listed(account)).deliveries
  const cancelled = await account.api.post(`/v1/set-aside/${aside.id}/cancel`)
  assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled'])
  assert.equal((await deliveryOf(account, messageId)).status, 'cancelled')
  assert.deepEqual((await listed(account)).deliveries, [])
  assert.equal((await eventTypes(account, messageId))[0], 'cancelled')
  assert.equal((await auditOf(account, 'set_aside.cancel')).length, 1)
})

test('what a pause matches is held by that pause when it is released, and counted there', async () => {
  const account = await anOwner()
  const messageId = await poison(account)
  const [aside] = (await listed(account)).deliveries
  const paused = (await account.api.post(`/v1/tenants/${account.tenant.id}/pause`)).body
  const released = await account.api.post(`/v1/set-aside/${aside.id}/release`)
  assert.deepEqual([released.body.status, released.body.suspension_id], ['held', paused.id])
  assert.equal((await account.api.get(`/v1/suspensions/${paused.id}`)).body.held_count, 1)
  assert.deepEqual((await eventTypes(account, messageId)).slice(0, 2), ['held', 'released'])
  assert.equal((await account.api.post(`/v1/tenants/${account.tenant.id}/resume`)).body.affected_deliveries, 1)
})

test('pausing, purging and resuming leave alone what was set aside', async () => {
  const account = await anOwner()
  const messageId = await poison(account)
  const paused = (await account.api.post(`/v1/tenants/${account.tenant.id}/pause`)).body
  assert.equal((await account.api.get(`/v1/suspensions/${paused.id}`)).body.held_count, 0)
  const resumed = await account.api.post(`/v1/tenants/${account.tenant.id}/resume`, { action: 'purge' })
  assert.equal(resumed.body.affected_deliveries, 0)
  assert.equal((await listed(account)).deliveries[0].message_id, messageId)
  assert.equal((await account.api.get('/v1/queue')).body.held, 1)
})

test("another account's is not found, and only an admin key is let in", async () => {
  const account = await anOwner()
  await poison(account)
  const [aside] = (await listed(account)).deliveries
  const stranger = await anOwner()
  for (const act of ['release', 'cancel']) {
    assert.equal((await stranger.api.post(`/v1/set-aside/${aside.id}/${act}`)).status, 404)
  }
  const reader = await account.withKey({ scopes: ['read', 'send', 'suspend', 'feedback'] })
  assert.equal((await reader.get('/v1/set-aside')).status, 403)
})
