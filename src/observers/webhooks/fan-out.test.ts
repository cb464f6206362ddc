// Fan-out between accounts: one with much to do keeps nobody waiting, and nothing is lost or doubled on the way.
import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { advanceTail, readTailOnce } from '../../platform/work/tail.ts'
import { aReceiver } from '../../platform/net/receiver.fixture.ts'
import { fanOut, fanOutBacklog } from './fan-out.ts'

const environment = { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' }
const by = system('test')
const { signal } = new AbortController()

/** Rows as the API would make them, so many that it would take long; fanned out to, but never pushed to. */
const addSilentWebhooks = ({ app }: Box, { id }: TestAccount, count: number): Promise<number> =>
  app.world.db.transact(by, tx =>
    tx.run(sql`
      with made as (
        insert into webhooks (id, account_id, url, event_types, status, secret, after_event_id, created_at)
        select gen_random_uuid(), ${id}::uuid, 'http://127.0.0.1:1/', '{}', 'disabled', '', 0, ${tx.now}
        from generate_series(1, ${count}::integer) returning id)
      insert into webhook_due (webhook_id) select id from made`),
  )

const happen = ({ app }: Box, { id }: TestAccount, count: number): Promise<void> =>
  app.world.db.transact(by, async tx => {
    for (let n = 0; n < count; n++) tx.record({ type: 'accepted', accountId: id })
  })

const attemptsOf = async ({ app }: Box, { id }: TestAccount): Promise<{ attempts: number; events: number }> =>
  app.world.db.one(sql`
    select count(*) as attempts, count(distinct a.event_id) as events
    from webhook_attempts a join webhooks w on w.id = a.webhook_id where w.account_id = ${id}`)

const backlogs = ({ app }: Box): Promise<{ account_id: string }[]> =>
  app.world.db.many(sql`select account_id from webhook_backlogs`)

test('an event of another account is pushed at once while one account has a million attempts to fan out', async t => {
  const box = await aBox({ until: t, environment })
  const receiver = await aReceiver()
  t.after(() => receiver.close())
  const [heavy, other] = [await anAccount({ box }), await anAccount({ box })]
  await addSilentWebhooks(box, heavy, 500)
  assert.equal((await other.api.post('/v1/webhooks', { url: receiver.url })).status, 201)
  for (let n = 0; n < 4; n++) await happen(box, heavy, 500)
  await eventually('the account is in the backlog', async () => (await backlogs(box)).length > 0)

  const waits: number[] = []
  for (let n = 1; n <= 5; n++) {
    const began = performance.now()
    await happen(box, other, 1)
    await happen(box, heavy, 50)
    await eventually('it is pushed', async () => receiver.received.length === n)
    waits.push(performance.now() - began)
  }

  const { attempts } = await attemptsOf(box, heavy)
  assert.ok(attempts < 1_000_000, 'the account still has much to do')
  assert.ok(Math.max(...waits) < 2_000, `${waits.map(Math.round).join(', ')} ms`)
  assert.deepEqual(
    (await backlogs(box)).map(row => row.account_id),
    [heavy.id],
  )
})

test('accounts in the backlog have slices in turn', async t => {
  const box = await aBox({ until: t, environment: { ...environment, ROLES: 'api' } })
  const { world } = box.app
  const accounts = [await anAccount({ box }), await anAccount({ box }), await anAccount({ box })]
  for (const account of accounts) await addSilentWebhooks(box, account, 100)
  await happen(box, accounts[0]!, 400)
  const tail = fanOut()
  await readTailOnce(world, tail)
  const reader = fanOutBacklog()
  for (let n = 0; n < 2; n++) await reader.run(world, signal)
  await happen(box, accounts[1]!, 100)
  await happen(box, accounts[2]!, 100)
  while ((await advanceTail(world, tail)) > 0);
  for (let n = 0; n < 3; n++) {
    box.clock.advance(10)
    await reader.run(world, signal)
  }

  for (const account of accounts.slice(1)) assert.ok((await attemptsOf(box, account)).attempts > 0)
  const { attempts } = await attemptsOf(box, accounts[0]!)
  assert.ok(attempts <= 3 * 4_000, `${attempts} attempts in three slices`)
})

test('whatever the order of rounds, slices and failures, each event has one attempt for each webhook', async t => {
  const box = await aBox({ until: t, environment: { ...environment, ROLES: 'api' } })
  const { world } = box.app
  const accounts = [await anAccount({ box }), await anAccount({ box }), await anAccount({ box })]
  const webhooks = [60, 40, 1]
  for (const [index, account] of accounts.entries()) await addSilentWebhooks(box, account, webhooks[index]!)
  const events = [0, 0, 0]
  const tails = [fanOut(), fanOut()]
  const readers = [fanOutBacklog(), fanOutBacklog(), fanOutBacklog()]
  await readTailOnce(world, tails[0]!)
  /** A process that dies: what it did in its transaction never was. */
  const failing = { ...world, db: Object.create(world.db) as typeof world.db }
  failing.db.transact = (actor, recipe) => world.db.transact(actor, tx => recipe(tx).then(() => Promise.reject(dead)))
  failing.db.transactLightly = failing.db.transact
  const dead = new Error('the process died')
  const somewhere = () => (randomInt(4) === 0 ? failing : world)
  const fill = async (): Promise<void> => {
    for (let n = 0; n < 25; n++) {
      const which = randomInt(3)
      const count = randomInt(1, 120)
      events[which]! += count
      await happen(box, accounts[which]!, count)
    }
  }
  let isOver = false
  const until = async (step: () => Promise<unknown>): Promise<void> => {
    while (!isOver)
      await step().catch(error => {
        if (error !== dead) throw error
      })
  }
  const workers = [
    ...tails.map(tail => until(() => advanceTail(somewhere(), tail))),
    ...readers.map(reader => until(() => reader.run(somewhere(), signal))),
  ]
  await fill()
  const expected = () =>
    accounts.map((_, index) => ({ attempts: events[index]! * webhooks[index]!, events: events[index]! }))
  await eventually(
    'all are fanned out',
    async () =>
      JSON.stringify(await Promise.all(accounts.map(each => attemptsOf(box, each)))) === JSON.stringify(expected()),
    60_000,
  )
  isOver = true
  await Promise.all(workers)

  await happen(box, accounts[0]!, 1)
  while ((await advanceTail(world, tails[0]!)) > 0);
  while ((await readers[0]!.run(world, signal)) > 0);
  await happen(box, accounts[2]!, 1)
  while ((await advanceTail(world, tails[0]!)) > 0);
  events[0]! += 1
  events[2]! += 1
  assert.deepEqual(await Promise.all(accounts.map(each => attemptsOf(box, each))), expected())
  assert.deepEqual(await backlogs(box), [], 'who has caught up leaves the backlog')
})

/** One for each of so many tenants, of which the account's first is one. */
const addWebhooksOfTenants = ({ app }: Box, { id, tenant }: TestAccount, count: number): Promise<number> =>
  app.world.db.transact(by, tx =>
    tx.run(sql`
      with others as (
        insert into tenants (id, account_id, external_id, name, status, max_recipients_per_message, created_at)
        select gen_random_uuid(), ${id}::uuid, 'other ' || n, 'Other', 'active', 1000, ${tx.now}
        from generate_series(2, ${count}::integer) n returning id
      ), made as (
        insert into webhooks (id, account_id, tenant_id, url, event_types, status, secret, after_event_id, created_at)
        select gen_random_uuid(), ${id}::uuid, tenant_id, 'http://127.0.0.1:1/', '{}', 'disabled', '', 0, ${tx.now}
        from (select id as tenant_id from others union all select ${tenant.id}::uuid) t returning id
      )
      insert into webhook_due (webhook_id) select id from made`),
  )

const happenAt = ({ app }: Box, { id, tenant }: TestAccount, count: number): Promise<void> =>
  app.world.db.transact(by, async tx => {
    for (let n = 0; n < count; n++) tx.record({ type: 'accepted', accountId: id, tenantId: tenant.id })
  })

test('webhooks that cannot want an event count neither for the tail nor for a slice', async t => {
  const box = await aBox({ until: t, environment: { ...environment, ROLES: 'api' } })
  const { world } = box.app
  const [account, busy] = [await anAccount({ box }), await anAccount({ box })]
  for (const each of [account, busy]) await addWebhooksOfTenants(box, each, 100)
  const tail = fanOut()
  await readTailOnce(world, tail)
  while ((await advanceTail(world, tail)) > 0);
  await happenAt(box, account, 1_000)
  while ((await advanceTail(world, tail)) > 0);
  assert.deepEqual(await attemptsOf(box, account), { attempts: 1_000, events: 1_000 })
  assert.deepEqual(await backlogs(box), [])

  await addSilentWebhooks(box, busy, 10)
  await happenAt(box, busy, 1_000)
  while ((await advanceTail(world, tail)) > 0);
  await fanOutBacklog().run(world, signal)

  // Eleven want each: as many events as fit into 4,000 rows.
  assert.deepEqual(await attemptsOf(box, busy), { attempts: 363 * 11, events: 363 })
})

test('accounts leave the backlog once they are small enough, although a round had failed before', async t => {
  const box = await aBox({ until: t, environment: { ...environment, ROLES: 'api' } })
  const { world } = box.app
  const account = await anAccount({ box })
  await addSilentWebhooks(box, account, 10)
  const tail = fanOut()
  await readTailOnce(world, tail)
  while ((await advanceTail(world, tail)) > 0);
  await happen(box, account, 1)
  const away = new Error('the database is away')
  const failing = { ...world, db: Object.create(world.db) as typeof world.db }
  // The statement that writes fails, as it would when it takes too long.
  failing.db.transact = (actor, recipe) =>
    world.db.transact(actor, tx => recipe(Object.assign(tx, { run: () => Promise.reject(away) })))
  failing.db.transactLightly = failing.db.transact
  for (let n = 0; n < 8; n++) await assert.rejects(advanceTail(failing, tail), away)

  for (let n = 0; n < 8; n++) {
    await happen(box, account, 30)
    while ((await advanceTail(world, tail)) > 0);
    while ((await fanOutBacklog().run(world, signal)) > 0);
  }

  await happen(box, account, 30)
  while ((await advanceTail(world, tail)) > 0);
  assert.deepEqual(await backlogs(box), [])
  assert.deepEqual(await attemptsOf(box, account), { attempts: 271 * 10, events: 271 })
})

test('a webhook that is enabled again while its account is behind misses nothing that was its', async t => {
  const box = await aBox({ until: t, environment: { ...environment, ROLES: 'api' } })
  const { world } = box.app
  const account = await anAccount({ box })
  await addSilentWebhooks(box, account, 99)
  const { body: webhook } = await account.api.post('/v1/webhooks', { url: 'http://127.0.0.1:1/' })
  await happen(box, account, 100)
  await readTailOnce(world, fanOut())
  assert.equal((await backlogs(box)).length, 1)
  await account.api.patch(`/v1/webhooks/${webhook.id}`, { status: 'disabled' })
  await account.api.patch(`/v1/webhooks/${webhook.id}`, { status: 'active' })

  const reader = fanOutBacklog()
  while ((await reader.run(world, signal)) > 0);

  const { attempts } = (await account.api.get(`/v1/webhooks/${webhook.id}/attempts?limit=500`)).body
  assert.equal(attempts.length, 100)
})

test('an account may have 100 webhooks, the operator allows more, and a race allows none beyond', async t => {
  const box = await aBox({ until: t, environment: { ...environment, ROLES: 'api' } })
  const account = await anAccount({ box })
  await addSilentWebhooks(box, account, 95)
  const create = () => account.api.post('/v1/webhooks', { url: `http://127.0.0.1:1/${randomUUID()}` })
  const statuses = async (count: number) =>
    (await Promise.all(Array.from({ length: count }, create))).map(reply => reply.status).toSorted()

  assert.deepEqual(await statuses(10), [...Array(5).fill(201), ...Array(5).fill(409)])
  assert.match((await create()).body.error.message, /may have 100 webhooks/)
  const set = (webhooks_max: number) => box.operator.patch(`/admin/v1/accounts/${account.id}`, { webhooks_max })
  assert.deepEqual([(await set(0)).status, (await set(2_001)).status], [400, 400])
  const { status, body } = await set(103)
  assert.deepEqual([status, body.webhooks_max], [200, 103])
  assert.deepEqual(await statuses(8), [...Array(3).fill(201), ...Array(5).fill(409)])
  const patched = await account.api.patch('/v1/account', { webhooks_max: 2_000 })
  assert.deepEqual([patched.status, patched.body.webhooks_max], [200, 103], "the operator's to change")
})
