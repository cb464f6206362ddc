// Old attempts go, but none of an account under legal hold; and what is kept costs the others nothing. Events stay until they
// are pushed.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, readByTails, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { aReceiver } from '../../platform/net/receiver.fixture.ts'

const DAY_MS = 86_400_000
/** More than are looked at in a batch. */
const MANY = 2_500

/** A webhook with attempts that were all decided at this moment. */
async function addDecided(
  { app }: Box,
  { id }: TestAccount,
  { delivered, dead }: { delivered: number; dead: number },
): Promise<void> {
  const webhookId = randomUUID()
  await app.world.db.transact(system('test'), async tx => {
    await tx.run(sql`
      insert into webhooks (id, account_id, url, event_types, status, secret, after_event_id, created_at)
      values (${webhookId}, ${id}, 'http://127.0.0.1:1/', '{}', 'disabled', '', 0, ${tx.now})`)
    await tx.run(sql`
      insert into webhook_attempts (webhook_id, event_id, event_type, status, attempt, round_tries, created_at, updated_at)
      select ${webhookId}, n, 'accepted', case when n <= ${delivered} then 'delivered' else 'dead' end, 1, 1, ${tx.now},
        ${tx.now}
      from generate_series(1, ${delivered + dead}::integer) n`)
  })
}

const leftOf = async ({ app }: Box, { id }: TestAccount): Promise<number[]> => {
  const { delivered, dead } = await app.world.db.one<{ delivered: number; dead: number }>(sql`
    select count(*) filter (where a.status = 'delivered') as delivered, count(*) filter (where a.status = 'dead') as dead
    from webhook_attempts a join webhooks w on w.id = a.webhook_id where w.account_id = ${id}`)
  return [delivered, dead]
}

test('an account under legal hold keeps its attempts, however many; others do not, nor does it when the hold is lifted', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const [held, other] = [await anAccount({ box }), await anAccount({ box })]
  const worker = box.app.workers.find(each => each.name === 'webhook-retention')
  assert.ok(worker?.kind === 'periodic')
  const leftAfter = async (days: number) => {
    box.clock.advance(days * DAY_MS)
    await worker.run(box.app.world, new AbortController().signal)
    return { held: await leftOf(box, held), other: await leftOf(box, other) }
  }
  await addDecided(box, held, { delivered: MANY, dead: 2 })
  box.clock.advance(1000)
  await addDecided(box, other, { delivered: 3, dead: 2 })
  await held.api.patch('/v1/account', { legal_hold: true })

  assert.deepEqual(await leftAfter(8), { held: [MANY, 2], other: [0, 2] })
  assert.deepEqual(await leftAfter(23), { held: [MANY, 2], other: [0, 0] })
  await held.api.patch('/v1/account', { legal_hold: false })
  assert.deepEqual(await leftAfter(1), { held: [0, 0], other: [0, 0] })
})

const ALLOWED = { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' }

async function forgetEvents({ app }: Box): Promise<number> {
  const worker = app.workers.find(each => each.name === 'retention')
  assert.ok(worker?.kind === 'periodic')
  await worker.run(app.world, new AbortController().signal)
  return app.world.db.value<number>(sql`select count(*) from events where type = 'accepted'`)
}

/** So many events, older by a day than they are kept. */
const addOldEvents = ({ app }: Box, { id }: TestAccount, count: number): Promise<void> =>
  app.world.db
    .transact(system('test'), async tx => {
      for (let n = 0; n < count; n++) tx.record({ type: 'accepted', accountId: id })
    })
    .then(() => backdateEvents(app.world.db, 8))

const backdateEvents = async (db: Box['app']['world']['db'], days: number): Promise<void> => {
  await db.transact(system('test'), tx =>
    tx.run(sql`update events set created_at = ${new Date(tx.now.getTime() - days * DAY_MS)} where type = 'accepted'`),
  )
}

async function anOldEvent(count: number) {
  const receiver = await aReceiver()
  const box = await aBox({ environment: { ...ALLOWED, ROLES: 'api' } })
  const account = await anAccount({ box })
  await account.api.patch('/v1/account', { metadata_retention_days: 7 })
  const { body: webhook } = await account.api.post('/v1/webhooks', { url: receiver.url, event_types: ['accepted'] })
  await addOldEvents(box, account, count)
  const attempts = async (status: string): Promise<{ error: string | null }[]> =>
    (await account.api.get(`/v1/webhooks/${webhook.id}/attempts?status=${status}`)).body.attempts
  return { receiver, box, account, webhook, attempts }
}

test('an event stays until every tail has read it and its pushes are decided, however old it is', async t => {
  const { receiver, box, attempts } = await anOldEvent(20)
  t.after(() => receiver.close())
  assert.equal(await forgetEvents(box), 20, 'no tail has read them')

  receiver.answer = (_request, response) => void response.writeHead(500).end()
  const later = await aBox({ until: t, environment: ALLOWED, databaseUrl: box.databaseUrl })
  await eventually('pushed in vain', async () => (await attempts('failed')).length === 20)
  await readByTails(later)
  assert.equal(await forgetEvents(later), 20, 'they are to be pushed again')

  receiver.answer = (_request, response) => void response.end()
  later.clock.advance(10_000)
  await eventually('pushed', async () => (await attempts('delivered')).length === 20)
  assert.equal(await forgetEvents(later), 0)
})

test('an event waits for its pushes no longer than thirty days past its time; then they are listed as dead', async t => {
  const { receiver, box, attempts } = await anOldEvent(1)
  t.after(() => receiver.close())
  receiver.answer = (_request, response) => void response.writeHead(500).end()
  const later = await aBox({ until: t, environment: ALLOWED, databaseUrl: box.databaseUrl })
  await eventually('pushed in vain', async () => (await attempts('failed')).length === 1)
  await readByTails(later)
  await backdateEvents(later.app.world.db, 38)

  assert.equal(await forgetEvents(later), 0)

  later.clock.advance(10_000)
  await eventually('given up', async () => (await attempts('dead')).length === 1)
  assert.equal((await attempts('dead'))[0]!.error, 'The event is no longer stored.')
})

test('a webhook that is disabled keeps no event from being removed', async t => {
  const { receiver, box, account, webhook, attempts } = await anOldEvent(1)
  t.after(() => receiver.close())
  receiver.answer = (_request, response) => void response.writeHead(500).end()
  const later = await aBox({ until: t, environment: ALLOWED, databaseUrl: box.databaseUrl })
  await eventually('pushed in vain', async () => (await attempts('failed')).length === 1)
  await readByTails(later)
  await account.api.patch(`/v1/webhooks/${webhook.id}`, { status: 'disabled' })

  assert.equal(await forgetEvents(later), 0)
})

test('every tail has a cursor before a worker has run', async t => {
  const { app } = await aBox({ until: t, environment: { ROLES: 'api' } })
  const tails = await app.world.db.many<{ name: string }>(sql`select name from tails order by name`)
  assert.deepEqual(
    tails.map(tail => tail.name),
    app.workers
      .filter(worker => worker.kind === 'tail')
      .map(worker => worker.name)
      .toSorted(),
  )
})
