// A crash of the database undoes the last claims, because they wait for no disk. The process that made them is still
// sending: its outcomes count, and nobody sends the same mail again.
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
import type { Courier, Transport } from './courier.ts'
import { deliveryWorkers } from './workers.ts'
import type { SendResult } from '../../smtp/client/outcome.ts'

const { signal } = new AbortController()

interface Site {
  box: Box
  world: World
  account: TestAccount
  courier: Courier
  sent: string[]
  /** What receivers say, to all that was sent so far. */
  answer: (result: (recipient: string) => SendResult) => void
}

/** Mail in the hands of a courier whose receivers have not answered yet. Nobody beats unless the test does. */
async function aSite(to: string[], db: (real: Database) => Database = real => real): Promise<Site> {
  const box = await aBox({ environment: { ROLES: 'api' } })
  const account = await anAccount({ box })
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'acme.sluice.test' })
  const message = { tenant_id: account.tenant.id, from: 'a@acme.sluice.test', to, text: 'x' }
  assert.equal((await account.api.post('/v1/messages', message)).status, 202)
  const world = { ...box.app.world, db: db(box.app.world.db), metrics: createMetrics() }
  const sent: string[] = []
  const { promise: answered, resolve: answer } = Promise.withResolvers<(recipient: string) => SendResult>()
  const transport: Transport = {
    send: async (_domain, { recipients }) => {
      sent.push(...recipients)
      return recipients.map(await answered)
    },
  }
  const courier = courierOver(world, transport)
  await courier.heartbeat()
  assert.equal(await courier.takeNext(signal), to.length)
  await eventually('it is being sent', async () => sent.length === to.length)
  return { box, world, account, courier, sent, answer }
}

/** The rows are as they were before the claim, and the process has noticed that the database was away. */
async function crash({ box }: Site): Promise<void> {
  const { db } = box.app.world
  await db.transact(system('test'), tx =>
    tx.run(sql`
      update queue set status = 'queued', lease_token = null, lease_until = null, holder_id = null, attempts = attempts - 1`),
  )
  db.continuity.noteLost()
  await db.one(sql`select 1 as back`)
}

const delivered = (host = 'mx.example'): SendResult => ({
  kind: 'delivered',
  reply: { code: 250, enhanced: '2.0.0', text: 'ok' },
  host,
  tls: false,
})

const statusesOf = async ({ box }: Site): Promise<string[]> =>
  (await box.app.world.db.many<{ status: string }>(sql`select status from queue order by n`)).map(row => row.status)

const deliveredCount = async ({ box }: Site): Promise<number> =>
  (await box.app.world.db.one<{ count: number }>(sql`select count(*) from events where type = 'delivered'`)).count

const withContinuity = (continuity: { losses: number; steadyMs: number }) => (real: Database) =>
  new Proxy(real, {
    get: (target, name: keyof Database) => {
      if (name === 'continuity') return continuity
      const value = target[name] as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

test('an outcome that comes before the first heartbeat after a crash is recorded', async () => {
  const site = await aSite(['a@one.example', 'b@two.example'])
  await crash(site)
  site.answer(() => delivered())
  await eventually('both are recorded', async () => (await statusesOf(site)).length === 0)
  assert.equal(await deliveredCount(site), 2)
})

test('so is one that has to be stored by itself, or without the words of the receiver', async () => {
  const site = await aSite(['a@one.example', 'poison@two.example'])
  await crash(site)
  site.answer(recipient => delivered(recipient.startsWith('poison') ? 'mx\0.example' : 'mx.example'))
  await eventually('both are recorded', async () => (await statusesOf(site)).length === 0)
  assert.equal(await deliveredCount(site), 2)
})

test('a process claims nothing before it has taken back what it is sending', async () => {
  const continuity = { losses: 0, steadyMs: Infinity }
  const site = await aSite(['a@one.example'], withContinuity(continuity))
  await crash(site)
  continuity.losses = 1
  continuity.steadyMs = 60_000
  assert.equal(await site.courier.takeNext(signal), 0)
  await site.courier.heartbeat()
  assert.deepEqual(await statusesOf(site), ['sending'])
  assert.equal(await site.courier.takeNext(signal), 0)
  site.answer(() => delivered())
  await eventually('it is recorded', async () => (await statusesOf(site)).length === 0)
  assert.deepEqual(site.sent, ['a@one.example'])
})

test('nor before every other process had the time to do so', async () => {
  const continuity = { losses: 0, steadyMs: Infinity }
  const { courier } = await aSite(['a@one.example'], withContinuity(continuity))
  continuity.steadyMs = 2_500
  assert.equal(courier.holder.mayClaim, false)
  continuity.steadyMs = 3_500
  assert.equal(courier.holder.mayClaim, true)
})

test('a heartbeat is due at once when the database was lost', async () => {
  const site = await aSite(['a@one.example'])
  const { box, courier, world } = site
  const worker = deliveryWorkers(courier).find(each => each.name === 'delivery-heartbeat')!
  assert.ok(worker.kind === 'periodic' && worker.seconds <= 1)
  const beatAt = async () =>
    (await world.db.one<{ at: Date }>(sql`select max(beat_at) as at from holders`)).at.getTime()
  const first = await beatAt()
  box.clock.advance(1_000)
  await worker.run(world, signal)
  assert.equal(await beatAt(), first, 'it was beating a moment ago')
  await crash(site)
  await worker.run(world, signal)
  assert.ok((await beatAt()) > first)
  assert.deepEqual(await statusesOf(site), ['sending'])
})

test('mail that has gone back to the queue is not taken back by a heartbeat after an outage', async () => {
  const gate = Promise.withResolvers<void>()
  const committed = Promise.withResolvers<void>()
  let isSlow = false
  /** Its answers to light transactions come late. */
  const slowly = (real: Database) =>
    new Proxy(real, {
      get: (target, name: keyof Database) => {
        if (name !== 'transactLightly') {
          const value = target[name] as unknown
          return typeof value === 'function' ? value.bind(target) : value
        }
        return async (...call: Parameters<Database['transactLightly']>) => {
          const mustWait = isSlow
          const result = await target.transactLightly(...call)
          if (!mustWait) return result
          committed.resolve()
          await gate.promise
          return result
        }
      },
    })
  const site = await aSite(['a@one.example'], slowly)
  isSlow = true
  site.answer(() => ({ kind: 'waited_too_long' }))
  await committed.promise
  isSlow = false
  site.box.app.world.db.continuity.noteLost()
  await site.courier.heartbeat()
  assert.deepEqual(await statusesOf(site), ['queued'])
  gate.resolve()
})
