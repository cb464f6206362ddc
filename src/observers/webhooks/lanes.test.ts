// Lanes under concurrency: nothing that becomes due while a claim is being made may be forgotten.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, eventually } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { createMetrics } from '../../platform/metrics.ts'
import { Dns } from '../../platform/net/dns.ts'
import { GuardedHttp } from '../../platform/net/guarded-http.ts'
import { aReceiver } from '../../platform/net/receiver.fixture.ts'
import { Messenger } from './messenger.ts'
import { claimAttempts, insertAttempts, lockDueLanes, updateLanes } from './work-queries.ts'

const EVERYTHING = { after: 0, upTo: Number.MAX_SAFE_INTEGER }

test('an event that is fanned out while a claim holds the lane is due when the claim is done', async () => {
  // Without a worker: the test does its steps, one at a time.
  const box = await aBox({ environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ROLES: 'api' } })
  const account = await anAccount({ box })
  const { db } = box.app.world
  const by = system('test')
  const { body: webhook } = await account.api.post('/v1/webhooks', { url: 'http://127.0.0.1:1/' })
  const happen = () => db.transact(by, async tx => tx.record({ type: 'accepted', accountId: account.id }))
  await happen()
  await db.transact(by, tx => insertAttempts(tx, EVERYTHING))
  await happen()

  const fanOuts: Promise<number>[] = []
  const leaseUntil = new Date(box.clock.now().getTime() + 30_000)
  await db.transact(by, async tx => {
    assert.equal((await lockDueLanes(tx, { except: [], limit: 10 })).length, 1)
    const lanes = [{ webhookId: webhook.id as string, room: 5 }]
    assert.equal((await claimAttempts(tx, { lanes, leaseToken: randomUUID(), leaseUntil })).length, 1)
    fanOuts.push(db.transact(by, other => insertAttempts(other, EVERYTHING)))
    await eventually('the fan-out waits for the lane', async () => {
      const waiting = await db.many(sql`select 1 from pg_locks where not granted`)
      return waiting.length > 0
    })
    await updateLanes(tx, [webhook.id])
  })
  await Promise.all(fanOuts)

  const lane = await db.one<{ due_at: Date }>(sql`select due_at from webhook_lanes where webhook_id = ${webhook.id}`)
  assert.ok(lane.due_at <= box.clock.now(), `due at ${lane.due_at.toISOString()}, the end of the lease`)
})

test('while there is something more urgent to do few are pushed at a time, and all of them in the end', async t => {
  const box = await aBox({ environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ROLES: 'api' } })
  const { world } = box.app
  const receiver = await aReceiver()
  const http = new GuardedHttp({ dns: new Dns({ servers: [] }), allowed: world.config.WEBHOOK_ALLOW_CIDRS })
  t.after(() => Promise.all([receiver.close(), http.close()]))
  const account = await anAccount({ box })
  const [path, silent] = [`/${randomUUID()}`, `/${randomUUID()}`]
  // One that never answers must not keep the other waiting.
  receiver.answer = (request, response) => void (request.path === silent || response.end())
  for (const each of [path, silent]) await account.api.post('/v1/webhooks', { url: receiver.url + each })
  await world.db.transact(system('test'), async tx => {
    for (let n = 0; n < 200; n++) tx.record({ type: 'accepted', accountId: account.id, data: { n } })
  })
  await world.db.transact(system('test'), tx => insertAttempts(tx, EVERYTHING))
  const messenger = new Messenger({ ...world, metrics: createMetrics() }, http, () => true)

  const first = await messenger.takeNext()
  assert.ok(first > 0 && first <= 64, `${first} at once`)
  assert.equal(await messenger.takeNext(), 0, 'not again at once')
  await eventually('the next are taken a little later', async () => (await messenger.takeNext()) > 0)
  await eventually('all are pushed', async () => {
    await messenger.takeNext()
    return receiver.of(path).length === 200
  })
})
