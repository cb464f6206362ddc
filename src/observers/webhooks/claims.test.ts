// Claims under concurrency: nothing that becomes due while a claim is being made may be forgotten.
// Waits more than it works.
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
import { LoadShedder } from '../../platform/work/load-shedder.ts'
import { aReceiver } from '../../platform/net/receiver.fixture.ts'
import { insertAttempts } from './fan-out-queries.ts'
import { paceOf, pushWorker } from './push-worker.ts'
import { claimAttempts, lockDueWebhooks, updateDueTimes } from './work-queries.ts'

const ANY = { only: null, except: [], exceptAccounts: [], known: [] }
const EVERYTHING = { after: 0, upTo: Number.MAX_SAFE_INTEGER }

function whileCallersWait(): LoadShedder {
  const load = new LoadShedder()
  load.yieldWhile(() => true)
  return load
}

test('an event that is fanned out while a claim has locked the webhook is due when the claim is done', async t => {
  // Without a worker: the test does its steps, one at a time.
  const box = await aBox({ until: t, environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ROLES: 'api' } })
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
    assert.equal((await lockDueWebhooks(tx, { asked: ANY, limit: 10 })).length, 1)
    const webhooks = [{ webhookId: webhook.id as string, attemptsMax: 5 }]
    assert.equal((await claimAttempts(tx, { webhooks, leaseToken: randomUUID(), leaseUntil })).length, 1)
    fanOuts.push(db.transact(by, other => insertAttempts(other, EVERYTHING)))
    await eventually('the fan-out waits for the lock', async () => {
      const waiting = await db.many(sql`
        select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)
      return waiting.length > 0
    })
    await updateDueTimes(tx, [webhook.id])
  })
  await Promise.all(fanOuts)

  const due = await db.one<{ due_at: Date }>(sql`select due_at from webhook_due where webhook_id = ${webhook.id}`)
  assert.ok(due.due_at <= box.clock.now(), `due at ${due.due_at.toISOString()}, the end of the lease`)
})

test('a claim may ask for certain webhooks only, past those that have waited longer', async t => {
  const box = await aBox({ until: t, environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ROLES: 'api' } })
  const account = await anAccount({ box })
  const { db } = box.app.world
  const by = system('test')
  const ids: string[] = []
  for (let n = 0; n < 3; n++) {
    ids.push((await account.api.post('/v1/webhooks', { url: `http://127.0.0.1:1/${n}` })).body.id)
    await db.transact(by, async tx => tx.record({ type: 'accepted', accountId: account.id }))
    await db.transact(by, tx => insertAttempts(tx, EVERYTHING))
    box.clock.advance(1_000)
  }
  const due = (only: string[] | null, except: string[] = []) =>
    db.transact(by, async tx =>
      (await lockDueWebhooks(tx, { asked: { ...ANY, only, except }, limit: 1 })).map(webhook => webhook.webhook_id),
    )

  assert.deepEqual(await due(null), [ids[0]])
  assert.deepEqual(await due(null, [ids[0]!]), [ids[1]])
  assert.deepEqual(await due([ids[2]!]), [ids[2]])
  assert.deepEqual(await due([]), [])
})

test('an answer is quick when it is complete within a second, and slow when it is late or breaks off', () => {
  const result = { responseStatus: 500, isComplete: true, error: 'Answered 500.', latencyMs: 1_000 }
  assert.equal(paceOf(result), 'quick', 'whatever it says')
  assert.equal(paceOf({ ...result, latencyMs: 1_001 }), 'slow')
  assert.equal(paceOf({ ...result, isComplete: false, latencyMs: 5 }), 'slow')
  assert.equal(paceOf({ ...result, responseStatus: null, isComplete: false }), 'unanswered')
})

test('while there is something more urgent to do few are pushed at a time, and all of them in the end', async t => {
  const box = await aBox({ until: t, environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ROLES: 'api' } })
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
  const pushes = pushWorker({ ...world, metrics: createMetrics(), load: whileCallersWait() }, http)

  const first = await pushes.takeNext()
  assert.ok(first > 0 && first <= 64, `${first} at once`)
  assert.equal(await pushes.takeNext(), 0, 'not again at once')
  await eventually('the next are taken a little later', async () => (await pushes.takeNext()) > 0)
  await eventually('all are pushed', async () => {
    await pushes.takeNext()
    return receiver.of(path).length === 200
  })
})

test('many webhooks that answered and then hang keep a quick one of another account waiting for a moment only', async t => {
  const box = await aBox({ until: t, environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ROLES: 'api' } })
  const { world } = box.app
  const [receiver, quick] = [await aReceiver(), await aReceiver()]
  const http = new GuardedHttp({ dns: new Dns({ servers: [] }), allowed: world.config.WEBHOOK_ALLOW_CIDRS })
  t.after(() => Promise.all([receiver.close(), quick.close(), http.close()]))
  const [busy, other] = [await anAccount({ box }), await anAccount({ box })]
  let hangs = false
  receiver.answer = (_request, response) => void (hangs || response.end())
  // With 160 for each they would have all that a process holds.
  for (let n = 0; n < 50; n++) await busy.api.post('/v1/webhooks', { url: `${receiver.url}/${n}` })
  await other.api.post('/v1/webhooks', { url: quick.url })
  let after = 0
  const happen = async (accountId: string, count: number): Promise<void> => {
    await world.db.transact(system('test'), async tx => {
      for (let n = 0; n < count; n++) tx.record({ type: 'accepted', accountId })
    })
    await world.db.transact(system('test'), tx => insertAttempts(tx, { ...EVERYTHING, after }))
    const { newest } = await world.db.one<{ newest: number }>(sql`select max(id) as newest from events`)
    after = newest
  }
  const pushes = pushWorker({ ...world, metrics: createMetrics() }, http)
  const takeAll = async (): Promise<void> => {
    while ((await pushes.takeNext()) > 0);
  }
  await happen(busy.id, 4)
  await eventually('all have answered', async () => {
    await takeAll()
    return receiver.received.length === 50 * 4
  })

  hangs = true
  await happen(busy.id, 170)
  await takeAll()
  await happen(other.id, 1)
  // The deadline of what hangs is 15 s away.
  await eventually(
    'the other is served',
    async () => {
      await takeAll()
      return quick.received.length === 1
    },
    8_000,
  )
})

test('an account with much due at many webhooks is served in turn with others, also while few are taken at a time', async t => {
  const box = await aBox({ until: t, environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ROLES: 'api' } })
  const { world } = box.app
  const [receiver, quick] = [await aReceiver(), await aReceiver()]
  const http = new GuardedHttp({ dns: new Dns({ servers: [] }), allowed: world.config.WEBHOOK_ALLOW_CIDRS })
  t.after(() => Promise.all([receiver.close(), quick.close(), http.close()]))
  const [busy, other] = [await anAccount({ box }), await anAccount({ box })]
  await box.operator.patch(`/admin/v1/accounts/${busy.id}`, { webhooks_max: 250 })
  for (let n = 0; n < 250; n++) await busy.api.post('/v1/webhooks', { url: `${receiver.url}/${n}` })
  await other.api.post('/v1/webhooks', { url: quick.url })
  await world.db.transact(system('test'), async tx => {
    for (let n = 0; n < 40; n++) tx.record({ type: 'accepted', accountId: busy.id })
  })
  await world.db.transact(system('test'), tx => insertAttempts(tx, EVERYTHING))
  const pushes = pushWorker({ ...world, metrics: createMetrics(), load: whileCallersWait() }, http)
  await eventually('the busy account is served', async () => {
    await pushes.takeNext()
    return receiver.received.length >= 400
  })
  const { newest } = await world.db.one<{ newest: number }>(sql`select max(id) as newest from events`)
  box.clock.advance(10)
  await world.db.transact(system('test'), async tx => tx.record({ type: 'accepted', accountId: other.id }))
  await world.db.transact(system('test'), tx => insertAttempts(tx, { ...EVERYTHING, after: newest }))

  await eventually('the other is served', async () => {
    box.clock.advance(1)
    await pushes.takeNext()
    return quick.received.length === 1
  })

  assert.ok(receiver.received.length < 2_000, `after ${receiver.received.length} of the 10,000 of the busy account`)
  await pushes.drain(5_000)
})

test('a hundred webhooks of one account that never answer leave places for new ones of another', async t => {
  const box = await aBox({ until: t, environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', ROLES: 'api' } })
  const { world } = box.app
  const [silent, quick] = [await aReceiver(), await aReceiver()]
  silent.answer = () => {}
  const http = new GuardedHttp({ dns: new Dns({ servers: [] }), allowed: world.config.WEBHOOK_ALLOW_CIDRS })
  t.after(() => Promise.all([silent.close(), quick.close(), http.close()]))
  const [busy, other] = [await anAccount({ box }), await anAccount({ box })]
  // Four at a time for each would be all that is held for webhooks that have not answered yet.
  await box.operator.patch(`/admin/v1/accounts/${busy.id}`, { webhooks_max: 600 })
  for (let n = 0; n < 600; n++) await busy.api.post('/v1/webhooks', { url: `${silent.url}/${n}` })
  for (let n = 0; n < 20; n++) await other.api.post('/v1/webhooks', { url: `${quick.url}/${n}` })
  await world.db.transact(system('test'), async tx => {
    for (let n = 0; n < 5; n++) tx.record({ type: 'accepted', accountId: busy.id })
  })
  await world.db.transact(system('test'), tx => insertAttempts(tx, EVERYTHING))
  const pushes = pushWorker({ ...world, metrics: createMetrics() }, http)
  while ((await pushes.takeNext()) > 0);
  assert.ok(silent.received.length <= 1_000, `${silent.received.length} of one account`)
  const { newest } = await world.db.one<{ newest: number }>(sql`select max(id) as newest from events`)
  await world.db.transact(system('test'), async tx => tx.record({ type: 'accepted', accountId: other.id }))
  await world.db.transact(system('test'), tx => insertAttempts(tx, { ...EVERYTHING, after: newest }))

  await pushes.takeNext()

  await eventually('the others are served', async () => quick.received.length === 20, 5_000)
})
