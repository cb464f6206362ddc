// The courier when something fails on our side: nothing is sent twice, kept for ever, or in the way of others.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import type { Database } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { createMetrics } from '../../platform/metrics.ts'
import type { World } from '../../platform/world.ts'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { courierOver } from './courier.fixture.ts'
import type { Courier } from './courier.ts'
import { LoadShedder } from '../../platform/work/load-shedder.ts'
import { InFlight } from './in-flight.ts'
import type { Claimed } from '../queue/attempts.ts'
import type { SendResult } from '../../smtp/client/outcome.ts'

const { signal } = new AbortController()

async function aSender(): Promise<{ box: Box; account: TestAccount }> {
  const box = await aBox({ environment: { ROLES: 'api' } })
  const account = await anAccount({ box })
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'acme.sluice.test' })
  return { box, account }
}

async function send(account: TestAccount, ...to: string[]): Promise<string> {
  const { status, body } = await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: 'a@acme.sluice.test',
    to,
    text: 'x',
  })
  assert.equal(status, 202)
  return body.message_id
}

const deliveryOf = async (account: TestAccount, id: string) =>
  (await account.api.get(`/v1/messages/${id}`)).body.deliveries[0]

/** A courier whose receivers answer so, with what was sent to whom. */
function aCourier(
  world: World,
  answer: (recipient: string) => SendResult,
  when: Promise<void> = Promise.resolve(),
): { courier: Courier; sent: string[] } {
  const sent: string[] = []
  const transport = {
    send: async (_domain: string, { recipients }: { recipients: readonly string[] }) => {
      sent.push(...recipients)
      await when
      return recipients.map(answer)
    },
  }
  return { courier: courierOver(world, transport), sent }
}

const delivered = (text: string, host = 'mx.example'): SendResult => ({
  kind: 'delivered',
  reply: { code: 250, enhanced: '2.0.0', text },
  host,
  tls: false,
})

/** The database as it is, but for the calls that the test answers itself. */
const standIn = (real: Database, calls: Partial<Record<keyof Database, unknown>>): Database =>
  new Proxy(real, {
    get: (target, name: keyof Database) => {
      if (calls[name]) return calls[name]
      const value = target[name] as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

test('what a receiver says cannot keep its mail, or that of others, from being recorded', async () => {
  const { box, account } = await aSender()
  const world = { ...box.app.world, metrics: createMetrics() }
  const answers: Record<string, SendResult> = {
    'half@one.example': delivered(`${'a'.repeat(499)}😀 ok`),
    'poison@two.example': delivered('fine', 'mx\0.example'),
    'plain@three.example': delivered('thanks'),
  }
  const { courier, sent } = aCourier(world, recipient => answers[recipient]!)
  const ids = new Map<string, string>()
  for (const to of Object.keys(answers)) ids.set(to, await send(account, to))
  assert.equal(await courier.takeNext(signal), 3)
  for (const id of ids.values())
    await eventually('it is recorded', async () => (await deliveryOf(account, id)).status === 'delivered')
  assert.deepEqual(sent.toSorted(), Object.keys(answers).toSorted())
  assert.equal((await deliveryOf(account, ids.get('half@one.example')!)).response, `${'a'.repeat(499)}\ufffd`)
  assert.equal((await deliveryOf(account, ids.get('poison@two.example')!)).response, null)
  assert.equal((await deliveryOf(account, ids.get('plain@three.example')!)).response, 'thanks')
})

test('mail that was claimed and could not be read is given back, and its lease is not kept alive', async () => {
  const { box, account } = await aSender()
  let isBroken = true
  const real = box.app.world.db
  const many = (query: Parameters<Database['many']>[0]) =>
    isBroken ? Promise.reject(new Error('canceling statement due to timeout')) : real.many(query)
  const db = standIn(real, { many })
  const world = { ...box.app.world, db, metrics: createMetrics() }
  const { courier } = aCourier(world, () => delivered('ok'))
  const id = await send(account, 'u@example.com')
  await assert.rejects(courier.takeNext(signal), /timeout/)
  await eventually('it is given back', async () => (await deliveryOf(account, id)).status === 'queued')
  assert.match(await world.metrics.registry.metrics(), /sluice_deliveries_in_flight 0/)
  isBroken = false
  assert.equal(await courier.takeNext(signal), 1)
  await eventually('it is delivered', async () => (await deliveryOf(account, id)).status === 'delivered')
})

test('an attempt that fails on our side is not made again at once', async () => {
  const { box, account } = await aSender()
  const world = { ...box.app.world, metrics: createMetrics() }
  let isBroken = true
  const { courier, sent } = aCourier(world, () => {
    if (isBroken) throw new Error('a mistake of ours')
    return delivered('ok')
  })
  const id = await send(account, 'u@example.com')
  assert.equal(await courier.takeNext(signal), 1)
  await eventually('it waits', async () => (await deliveryOf(account, id)).status === 'queued')
  assert.equal(await courier.takeNext(signal), 0)
  isBroken = false
  box.clock.advance(61_000)
  assert.equal(await courier.takeNext(signal), 1)
  await eventually('it is delivered', async () => (await deliveryOf(account, id)).status === 'delivered')
  assert.equal(sent.length, 2)
})

test('what was delivered is recorded although the others of its transaction cannot go back to the queue', async () => {
  const { box, account } = await aSender()
  const real = box.app.world.db
  let isBroken = false
  const transactLightly = (...call: Parameters<Database['transactLightly']>) =>
    isBroken ? Promise.reject(new Error('canceling statement')) : real.transactLightly(...call)
  const world = { ...box.app.world, db: standIn(real, { transactLightly }), metrics: createMetrics() }
  const { courier, sent } = aCourier(world, recipient => {
    isBroken = true
    return recipient.startsWith('late') ? { kind: 'waited_too_long' } : delivered('ok')
  })
  const to = Array.from({ length: 30 }, (_, n) => `${n < 5 ? 'late' : 'user'}${n}@one.example`)
  const id = await send(account, ...to)
  assert.equal(await courier.takeNext(signal), 30)
  await eventually('they are recorded', async () => {
    const { body } = await account.api.get(`/v1/messages/${id}`)
    return body.counts.delivered === 25
  })
  assert.equal(sent.length, 30)
})

test('an outcome that cannot be stored sends its own mail again, and that of no other', async () => {
  const { box, account } = await aSender()
  const real = box.app.world.db
  let records = 0
  // The last batch comes late: time enough for the failure of the one before it to do harm.
  const transact = async (...call: Parameters<Database['transact']>) => {
    if (++records > 500) for (let n = 0; n < 50; n++) await real.one(sql`select 1 as turn`)
    return real.transact(...call)
  }
  await real.transact(system('test'), async tx => {
    await tx.run(sql`create function refuse_it() returns trigger language plpgsql as $$ begin raise 'no'; end $$`)
    await tx.run(sql`
      create trigger refuse_it before delete on queue for each row when (old.recipient like 'poison%') execute function refuse_it()`)
  })
  const world = { ...box.app.world, db: standIn(real, { transact }), metrics: createMetrics() }
  const { promise: all, resolve: answer } = Promise.withResolvers<void>()
  const { courier, sent } = aCourier(world, () => delivered('ok'), all)
  // 540 outcomes at once are two batches of the recorder, and the last transaction has a part in both.
  const recipients = (from: number) => Array.from({ length: 270 }, (_, n) => `user${from + n}@one.example`)
  const ids = [await send(account, ...recipients(0))]
  assert.equal(await courier.takeNext(signal), 270)
  const others = recipients(270)
  others[185] = 'poison@one.example'
  ids.push(await send(account, ...others))
  assert.equal(await courier.takeNext(signal), 270)
  await eventually('all are being sent', async () => sent.length === 540)
  answer()
  const count = async () => {
    const found = await Promise.all(ids.map(id => account.api.get(`/v1/messages/${id}`)))
    return found.reduce((sum, { body }) => sum + (body.counts.delivered ?? 0), 0)
  }
  await eventually('the others are recorded', async () => (await count()) === 539, 30_000)
  const rows = () => real.many<{ recipient: string; status: string }>(sql`select recipient, status from queue`)
  await eventually('it waits', async () => (await rows())[0]?.status === 'queued')
  assert.deepEqual(await rows(), [{ recipient: 'poison@one.example', status: 'queued' }])
})

test('mail that lapsed and was claimed again by the same process is counted for both attempts', () => {
  const inFlight = new InFlight(new LoadShedder())
  const claimed = Array.from(
    { length: 30 },
    (_, n) => ({ message_id: 'm', n, recipient_domain: 'slow.test' }) as Claimed,
  )
  inFlight.begin(claimed, 'first')
  inFlight.begin(claimed, 'second')
  assert.equal(inFlight.size, 60)
  inFlight.end(claimed, 'first')
  inFlight.end(claimed, 'second')
  assert.equal(inFlight.size, 0)
  inFlight.destinations.markSlow('slow.test')
  assert.equal(inFlight.destinations.deferMs('slow.test', 1), null)
})
