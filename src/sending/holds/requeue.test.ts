// Whatever way mail returns to the queue, what an active pause matches is held at once; and a resume answers exactly how much
// it releases before any of it has moved.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { createMetrics } from '../../platform/metrics.ts'
import { leaseOf } from '../delivery/in-flight.ts'
import { Holder } from '../delivery/holder.ts'
import { reclaim } from '../delivery/reclaim.ts'
import { OutcomeRecorder } from '../delivery/recorder.ts'
import { claimDue, type Claimed } from '../queue/attempts.ts'
import { parkInSlices } from './park.ts'
import { releaseInSlices } from './release.ts'

const { signal } = new AbortController()
const releaseNext = releaseInSlices()

/** Without workers: the tests do what they do. */
async function aQuietSender(): Promise<{ account: TestAccount; box: Box }> {
  const box = await aBox({ environment: { ROLES: 'api' } })
  return { box, account: await anAccount({ box, sandbox: true }) }
}

const send = async (account: TestAccount, fields: object = {}): Promise<string> => {
  const message = { tenant_id: account.tenant.id, from: 'a@acme.example', to: ['u@example.com'], text: 'x', ...fields }
  const { status, body } = await account.api.post('/v1/messages', message)
  assert.equal(status, 202, JSON.stringify(body))
  return body.message_id
}

async function pause({ api }: TestAccount, scope_type: string, scope_value: string): Promise<string> {
  return (await api.post('/v1/suspensions', { scope_type, scope_value })).body.id
}

async function resume({ api }: TestAccount, id: string, order: object = {}): Promise<number> {
  const { status, body } = await api.post(`/v1/suspensions/${id}/resume`, order)
  assert.equal(status, 200, JSON.stringify(body))
  return body.affected_deliveries
}

const rowsOf = ({ app }: Box, accountId: string) =>
  app.world.db.many<{ status: string; suspension_id: string | null }>(sql`
    select status, suspension_id from queue where account_id = ${accountId} order by message_id, n`)

const heldBy = async (account: TestAccount, id: string): Promise<number> =>
  (await account.api.get(`/v1/suspensions/${id}`)).body.held_count

async function eventTypes(account: TestAccount, id: string): Promise<string[]> {
  const { body } = await account.api.get(`/v1/events?message_id=${id}`)
  return body.events.map((event: { type: string }) => event.type)
}

test('deferred, throttled, given back, lapsed: what returns while a pause matches it is held at once', async () => {
  const { account, box } = await aQuietSender()
  const world = { ...box.app.world, metrics: createMetrics() }
  const ids = [await send(account), await send(account), await send(account), await send(account)]
  const holder = new Holder(world)
  await holder.beat()
  const leaseToken = randomUUID()
  const leaseUntil = new Date(box.clock.now().getTime() + 30_000)
  const claimed = await world.db.transact(system('test'), tx =>
    claimDue(tx, { holderId: holder.id, leaseToken, leaseUntil, limit: 10 }),
  )
  const find = (id: string): Claimed => claimed.find(each => each.message_id === id)!
  const lease = (id: string) => leaseOf(find(id), leaseToken)
  const paused = await pause(account, 'tenant', account.tenant.id)
  await parkInSlices()(world, signal)
  assert.equal(await heldBy(account, paused), 0)

  const recorder = new OutcomeRecorder(world, holder)
  const dueAt = new Date(box.clock.now().getTime() + 60_000)
  const nothing = { smtpCode: null, enhancedCode: null, response: null, mxHost: null, bounceType: null, data: {} }
  const verdict = { ...nothing, status: 'deferred' as const, dueAt }
  await recorder.record({ delivery: find(ids[0]!), leaseToken, verdict })
  await recorder.defer({ ...lease(ids[1]!), due_at: dueAt })
  await recorder.release(lease(ids[2]!))
  box.clock.advance(31_000)
  await holder.beat()
  await reclaim(world, holder)

  assert.deepEqual(
    await rowsOf(box, account.id),
    ids.map(() => ({ status: 'held', suspension_id: paused })),
  )
  assert.equal(await heldBy(account, paused), 4)
  assert.deepEqual(await eventTypes(account, ids[0]!), ['held', 'deferred', 'accepted'])
  assert.deepEqual(await eventTypes(account, ids[1]!), ['held', 'accepted'])
  assert.equal(await resume(account, paused, { action: 'purge' }), 4)
})

test('beside a pause that overlaps, a resume answers exactly what it releases before anything has moved', async () => {
  const { account, box } = await aQuietSender()
  const wide = await pause(account, 'tenant', account.tenant.id)
  await send(account, { tags: ['kept'] })
  await send(account, { to: ['a@example.com', 'b@kept.example'] })
  await send(account, { tags: ['kept'], to: ['c@kept.example', 'd@example.com'] })
  const [tag, domain] = [
    await pause(account, 'rule', 'tag:kept'),
    await pause(account, 'rule', 'recipient_domain:kept.example'),
  ]

  assert.equal(await resume(account, wide), 1)

  assert.deepEqual([...new Set((await rowsOf(box, account.id)).map(row => row.suspension_id))], [wide])
  while ((await releaseNext(box.app.world, signal)) > 0);
  assert.deepEqual([await heldBy(account, wide), await heldBy(account, tag), await heldBy(account, domain)], [0, 3, 1])
  assert.equal((await rowsOf(box, account.id)).filter(row => row.status === 'queued').length, 1)
})

test('a resume waits for an earlier one that still moves a part of its mail to it, and counts that', async () => {
  const { account, box } = await aQuietSender()
  const wide = await pause(account, 'tenant', account.tenant.id)
  await send(account, { tags: ['kept'] })
  await send(account)
  const tag = await pause(account, 'rule', 'tag:kept')
  assert.equal(await resume(account, wide), 1)

  const second = resume(account, tag)
  while ((await releaseNext(box.app.world, signal)) > 0);

  assert.equal(await second, 1)
  while ((await releaseNext(box.app.world, signal)) > 0);
  assert.deepEqual(
    (await rowsOf(box, account.id)).map(row => row.status),
    ['queued', 'queued'],
  )
})

test('mail that comes to be held while a resume counts is counted too', async () => {
  const { account, box } = await aQuietSender()
  const wide = await pause(account, 'tenant', account.tenant.id)
  const tag = await pause(account, 'rule', 'tag:kept')
  let sent = 0
  const sending = Array.from({ length: 4 }, async () => {
    for (let n = 0; n < 10; n++) {
      await send(account, n % 3 === 0 ? { tags: ['kept'] } : {})
      sent += 1
    }
  })
  while (sent < 10) await new Promise(resolve => setTimeout(resolve, 5))
  const affected = await resume(account, wide)
  await Promise.all(sending)
  while ((await releaseNext(box.app.world, signal)) > 0);

  const { released } = await box.app.world.db.one<{ released: number }>(sql`
    select count(*) as released from events where account_id = ${account.id} and type = 'released'`)
  assert.equal(affected, released)
  assert.equal(await heldBy(account, tag), 16)
})
