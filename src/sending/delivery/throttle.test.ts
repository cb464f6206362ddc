// A destination that is slow has its own mail waiting, and nobody else's.
import assert from 'node:assert/strict'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { createMetrics } from '../../platform/metrics.ts'
import { LoadShedder } from '../../platform/work/load-shedder.ts'
import { Throttle } from '../../platform/work/throttle.ts'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, eventually } from '../../../test/support/factories.ts'
import { aSink } from '../../../test/support/sink.ts'
import { courierOver } from './courier.fixture.ts'
import type { Transport } from './courier.ts'
import { claimDue, releaseLeases, type Claimed } from '../queue/attempts.ts'
import { InFlight } from './in-flight.ts'

const closing: (() => unknown)[] = []
after(() => Promise.all(closing.map(close => close())))

/** Takes connections and says nothing. */
async function aSilentServer(): Promise<{ port: number; connections: Set<Socket>; close: () => void }> {
  const connections = new Set<Socket>()
  const server: Server = createServer(socket => {
    connections.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => connections.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const close = (): void => {
    for (const socket of connections) socket.destroy()
    server.close()
  }
  return { port: (server.address() as AddressInfo).port, connections, close }
}

test('a thousand recipients at a destination that hangs do not delay a mail to another', async t => {
  const silent = await aSilentServer()
  t.after(silent.close)
  const sink = await aSink()
  closing.push(() => sink.close())
  const box = await aBox({
    environment: { SMTP_ROUTES: `slow.test=127.0.0.1:${silent.port},*=127.0.0.1:${sink.port}` },
  })
  const account = await anAccount({ box })
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'acme.sluice.test' })
  const send = (to: string[]) =>
    account.api.post('/v1/messages', { tenant_id: account.tenant.id, from: 'a@acme.sluice.test', to, text: 'x' })
  const slow = Array.from({ length: 1_000 }, (_, n) => `user${n}@slow.test`)
  for (let n = 0; n < 2; n++) assert.equal((await send(slow)).status, 202)
  await eventually('the slow destination is tried', async () => silent.connections.size > 0)

  const began = performance.now()
  const { body } = await send(['someone@example.com'])
  await eventually('the other is delivered', async () => {
    const found = await account.api.get(`/v1/messages/${body.message_id}`)
    return found.body.counts.delivered === 1
  })
  assert.ok(performance.now() - began < 10_000)
})

test('what is turned away waits in the queue as if it had not been tried, and is sent when its time has come', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ box })
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'acme.sluice.test' })
  const { body: sent } = await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: 'a@acme.sluice.test',
    to: ['u@slow.test'],
    text: 'x',
  })
  let isSlow = true
  const reply = { code: 250, enhanced: null, text: 'ok' }
  const transport: Transport = {
    send: async (_domain, { recipients }) =>
      recipients.map(() =>
        isSlow ? { kind: 'waited_too_long' } : { kind: 'delivered', reply, host: 'mx.slow.test', tls: false },
      ),
  }
  const world = { ...box.app.world, metrics: createMetrics() }
  const courier = courierOver(world, transport)
  const { signal } = new AbortController()
  const delivery = async () => {
    const { body } = await account.api.get(`/v1/messages/${sent.message_id}`)
    return body.deliveries[0]
  }

  assert.equal(await courier.takeNext(signal), 1)
  await eventually('it is deferred', async () => (await delivery()).status === 'queued')
  assert.equal((await delivery()).attempts, 0)
  isSlow = false
  assert.equal(await courier.takeNext(signal), 0)
  box.clock.advance(6_000)
  assert.equal(await courier.takeNext(signal), 1)
  await eventually('it is sent', async () => (await delivery()).status === 'delivered')
  assert.equal((await delivery()).attempts, 1)
  const { body } = await account.api.get(`/v1/events?message_id=${sent.message_id}`)
  assert.deepEqual(body.events.map((event: { type: string }) => event.type).toSorted(), ['accepted', 'delivered'])
})

test('mail that a throttled destination never took expires by its age', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ box })
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'old.sluice.test' })
  const { body } = await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: 'a@old.sluice.test',
    to: ['x@slow.test'],
    text: 'Hi',
  })
  const transport: Transport = { send: async () => [{ kind: 'waited_too_long' }] }
  const world = { ...box.app.world, metrics: createMetrics() }
  const courier = courierOver(world, transport)
  const message = async () => (await account.api.get(`/v1/messages/${body.message_id}`)).body
  const round = async (status: string) => {
    await courier.takeNext(new AbortController().signal)
    await eventually(status, async () => (await message()).deliveries[0].status === status)
  }

  const age = (hours: number) =>
    world.db.transact(system('test'), tx =>
      tx.run(sql`update queue set accepted_at = accepted_at - ${hours} * interval '1 hour'`),
    )

  await round('queued')
  await age(71)
  box.clock.advance(11 * 60_000)
  await round('queued')
  box.clock.advance(5 * 24 * 3_600_000)
  await round('queued')
  await age(1)
  box.clock.advance(11 * 60_000)
  await round('expired')

  const events = (await account.api.get(`/v1/events?message_id=${body.message_id}`)).body.events
  assert.equal(events.filter((event: { type: string }) => event.type === 'expired').length, 1)
  assert.match((await message()).deliveries[0].response, /No attempt could be made/)
})

test('a slow key is deferred by its length and pace, keeps a share, and is forgotten when it has drained', () => {
  const throttle = new Throttle()
  throttle.begin('slow.test', 20)
  assert.equal(throttle.deferMs('slow.test', 1), null, 'many, but nobody has waited too long')
  throttle.markSlow('slow.test')
  const waits = [1, 100, 1_000_000].map(count => throttle.deferMs('slow.test', count)!)
  assert.deepEqual(
    waits,
    waits.toSorted((a, b) => a - b),
  )
  assert.equal(waits[0], 5_000)
  assert.equal(waits[2], 600_000)
  assert.equal(throttle.size, 20)
  assert.equal(throttle.deferMs('other.test', 1), null)
  throttle.end('slow.test', 1)
  assert.equal(throttle.deferMs('slow.test', 1), null, 'a share goes on being tried')
  throttle.end('slow.test', 10)
  assert.equal(throttle.size, 0)
})

test('time in which mail waited is left out of its age once, however often it is claimed', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ sandbox: true, box })
  const body = { tenant_id: account.tenant.id, from: 'a@b.test', to: ['user@example.com'], text: 'x' }
  await account.api.post('/v1/messages', body)
  const { db } = box.app.world
  const claim = { holderId: crypto.randomUUID(), leaseToken: crypto.randomUUID(), limit: 1 }
  const by = system('test')
  await db.transact(by, tx => tx.run(sql`update queue set status = 'deferred', due_at = ${tx.now}, attempts = 1`))
  box.clock.advance(4 * 86_400_000)
  for (let n = 0; n < 3; n++) {
    const [claimed] = await db.transact(by, tx => claimDue(tx, { ...claim, leaseUntil: tx.now }))
    const aheadMs = claimed!.accepted_at.getTime() - box.clock.now().getTime()
    assert.ok(aheadMs < 1_000 && aheadMs > -60_000, `${aheadMs} ms ahead of now`)
    await db.transact(by, tx => releaseLeases(tx, [{ ...claimed!, lease_token: claim.leaseToken }]))
  }
})

test('new mail and mail that is due again are claimed in turns', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ sandbox: true, box })
  const recipients = Array.from({ length: 40 }, (_, n) => `user${n}@example.com`)
  await account.api.post('/v1/messages', { tenant_id: account.tenant.id, from: 'a@b.test', to: recipients, text: 'x' })
  const { db } = box.app.world
  await db.transact(system('test'), tx =>
    tx.run(sql`update queue set status = 'deferred', due_at = ${tx.now}, attempts = 1 where n >= 20`),
  )
  const claimed = await db.transact(system('test'), tx =>
    claimDue(tx, {
      holderId: crypto.randomUUID(),
      leaseToken: crypto.randomUUID(),
      leaseUntil: new Date(tx.now.getTime() + 30_000),
      limit: 10,
    }),
  )
  assert.deepEqual(claimed.map(row => row.attempts).toSorted(), [1, 1, 1, 1, 1, 2, 2, 2, 2, 2])
})

test('an account with many slow conversations has its mail to unknown destinations deferred alone', async t => {
  let now = performance.now()
  t.mock.method(performance, 'now', () => now)
  const inFlight = new InFlight(new LoadShedder())
  const deliveryTo = (accountId: string, domain: string): Claimed[] => [
    { message_id: domain, n: 0, account_id: accountId, recipient_domain: domain, relay_inbox_id: null } as Claimed,
  ]
  const { promise: hangs, resolve: answer } = Promise.withResolvers<void>()
  await inFlight.talk(deliveryTo('one', 'quick.test'), async () => {})
  const talks = Array.from({ length: 100 }, (_, n) => inFlight.talk(deliveryTo('one', `slow${n}.test`), () => hangs))
  const deferred = (): boolean[] =>
    [deliveryTo('one', 'new.test'), deliveryTo('one', 'quick.test'), deliveryTo('another', 'new.test')].map(
      deliveries => inFlight.deferMs(deliveries) !== null,
    )
  assert.deepEqual(deferred(), [false, false, false])

  now += 6_000
  await inFlight.claimLimit(new AbortController().signal)
  assert.deepEqual(deferred(), [true, false, false])

  answer()
  await Promise.all(talks)
  assert.deepEqual(deferred(), [false, false, false])
})
