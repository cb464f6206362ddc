// Leases that lapse: who counts as gone, and what that says about the mail it had leased.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { createMetrics } from '../../platform/metrics.ts'
import type { World } from '../../platform/world.ts'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { courierOver } from './courier.fixture.ts'
import type { Courier, Transport } from './courier.ts'
import { Holder } from './holder.ts'
import { claimDue } from '../queue/attempts.ts'
import { reclaim } from './reclaim.ts'

const { signal } = new AbortController()

interface Row {
  recipient: string
  status: string
  crashes: number
  is_suspect: boolean
}

const rowsOf = ({ app }: Box): Promise<Row[]> =>
  app.world.db.many<Row>(sql`select recipient, status, crashes, is_suspect from queue order by n`)

/** Without workers of its own: the test is the only one that claims and reclaims. */
async function aQueue(recipients: string[]): Promise<{ box: Box; account: TestAccount; world: World; id: string }> {
  const box = await aBox({ environment: { ROLES: 'api' } })
  const account = await anAccount({ box })
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'acme.sluice.test' })
  const message = { tenant_id: account.tenant.id, from: 'a@acme.sluice.test', to: recipients, text: 'x' }
  const { status, body } = await account.api.post('/v1/messages', message)
  assert.equal(status, 202, JSON.stringify(body))
  return { box, account, world: { ...box.app.world, metrics: createMetrics() }, id: body.message_id }
}

/** One that has reached the database without a break for so long that it may judge others, and goes on doing so. */
async function aJudge(box: Box): Promise<{ holder: Holder; pass: (milliseconds: number) => Promise<void> }> {
  const holder = new Holder(box.app.world)
  const pass = async (milliseconds: number) => {
    for (let left = milliseconds; left > 0; left -= 5_000) {
      await holder.beat()
      box.clock.advance(Math.min(left, 5_000))
    }
    await holder.beat()
  }
  await pass(16_000)
  return { holder, pass }
}

/** A process that dies: its receivers never answer, and nothing of it happens after the test has had enough. */
function aDyingCourier(world: World, hanging: RegExp): { courier: Courier; begun: string[]; prepared: string[] } {
  const [begun, prepared]: [string[], string[]] = [[], []]
  const transport: Transport = {
    send: async (_domain, { recipients, mayBegin }) => {
      prepared.push(...recipients)
      if (hanging.test(recipients[0]!) && (await mayBegin({ isClear: false }))) begun.push(...recipients)
      return new Promise(() => {})
    },
  }
  const keys = { keyOf: async () => null }
  return {
    courier: courierOver({ ...world, metrics: createMetrics() }, transport, keys),
    begun,
    prepared,
  }
}

test('a crash counts for what the worker was working on, three of them set it aside, the rest is sent', async () => {
  const recipients = ['poison@one.example', 'waits@two.example', 'waits@three.example']
  const { box, account, world, id } = await aQueue(recipients)
  const { holder, pass } = await aJudge(box)
  const afterDeath = [
    ['queued', 0, 'queued', 0, 'queued', 0],
    ['queued', 2, 'queued', 0, 'queued', 0],
    ['held', 3, 'queued', 0, 'queued', 0],
  ]
  for (const expected of afterDeath) {
    const { courier, begun, prepared } = aDyingCourier(world, /poison/)
    await courier.heartbeat()
    assert.equal(await courier.takeNext(signal), 3)
    // A process that dies while it prepares a mail may have died of that.
    await eventually('one has begun, two wait', async () => begun.length === 1 && prepared.length === 3)
    await pass(29_000)
    await reclaim(world, holder)
    assert.deepEqual(new Set((await rowsOf(box)).map(row => row.status)), new Set(['sending']), 'a lease lasts 30 s')
    await pass(2_000)
    await reclaim(world, holder)
    assert.deepEqual(
      (await rowsOf(box)).flatMap(row => [row.status, row.crashes]),
      expected,
    )
  }
  const events = (await account.api.get(`/v1/events?message_id=${id}&type=held`)).body.events
  assert.deepEqual([events.length, events[0].recipient, events[0].data.reason], [1, 'poison@one.example', 'set_aside'])
})

test('a holder that lives, or that ended in order, is no crash', async () => {
  const { box, world } = await aQueue(['a@one.example'])
  const { holder, pass } = await aJudge(box)
  for (let round = 1; round <= 4; round++) {
    const other = new Holder(world)
    const claim = { holderId: other.id, leaseToken: randomUUID(), limit: 10 }
    const claimed = await world.db.transact(system('test'), tx =>
      claimDue(tx, { ...claim, leaseUntil: new Date(tx.now.getTime() + 30_000) }),
    )
    assert.equal(claimed.length, 1)
    await pass(31_000)
    await other.beat()
    // Half of them end in order and are not heard of again.
    if (round % 2 === 0) {
      await other.leave()
      await pass(60_000)
    }
    await reclaim(world, holder)
    assert.deepEqual(await rowsOf(box), [
      { recipient: 'a@one.example', status: 'queued', crashes: 0, is_suspect: false },
    ])
  }
})

test('right after an outage nobody is judged, and who comes back keeps what it has leased', async () => {
  const { box, world } = await aQueue(['a@one.example'])
  const { holder, pass } = await aJudge(box)
  const { courier, begun } = aDyingCourier(world, /a@/)
  await courier.heartbeat()
  await courier.takeNext(signal)
  await eventually('it has begun', async () => begun.length === 1)
  // Nobody reaches the database for a minute.
  box.clock.advance(60_000)
  const isStillSent = async () => assert.equal((await rowsOf(box))[0]!.status, 'sending')
  await reclaim(world, holder)
  await isStillSent()
  await pass(10_000)
  await reclaim(world, holder)
  await isStillSent()
  await courier.heartbeat()
  await pass(25_000)
  await reclaim(world, holder)
  await isStillSent()
  // It is gone after all.
  await pass(10_000)
  await reclaim(world, holder)
  assert.deepEqual(await rowsOf(box), [{ recipient: 'a@one.example', status: 'queued', crashes: 0, is_suspect: true }])
})

test('an attempt that is recorded clears the mail of every suspicion', async () => {
  const { box, world } = await aQueue(['a@one.example'])
  await world.db.transact(system('test'), tx => tx.run(sql`update queue set crashes = 2, is_suspect = true`))
  const transport: Transport = {
    send: async () => [{ kind: 'fault', phase: 'connect', reason: 'nobody there', host: null, isPermanent: false }],
  }
  const courier = courierOver(world, transport)
  await courier.takeNext(signal)
  await eventually('it is deferred', async () => (await rowsOf(box))[0]!.status === 'deferred')
  assert.deepEqual(await rowsOf(box), [
    { recipient: 'a@one.example', status: 'deferred', crashes: 0, is_suspect: false },
  ])
})
