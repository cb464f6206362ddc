// Held mail: parked by a pause, released, cancelled, moved to another pause, expired. Nothing is lost or doubled.
import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { lockAccountExclusively } from '../../control/suspensions/locks.ts'
import { lockWhileActive } from '../../control/suspensions/progress.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { aSink, type TestSink } from '../../../test/support/sink.ts'

const sinks: TestSink[] = []
after(() => Promise.all(sinks.map(sink => sink.close())))

interface Sender {
  account: TestAccount
  sink: TestSink
  box: Box
}

let shared: Promise<{ box: Box; sink: TestSink }> | null = null

async function aRoutedBox(until?: TestContext): Promise<{ box: Box; sink: TestSink }> {
  const sink = await aSink()
  sinks.push(sink)
  const environment = { SMTP_ROUTES: `*=127.0.0.1:${sink.port}` }
  return { box: await aBox({ environment, until }), sink }
}

let accounts = 0

async function aSender(tenants = 1, routed = (shared ??= aRoutedBox())): Promise<Sender & { from: string }> {
  const { box, sink } = await routed
  const account = await anAccount({ box, tenants })
  accounts += 1
  for (const [index, tenant] of account.tenants.entries()) {
    const name = `t${index}-${accounts}.sluice.test`
    assert.equal((await account.api.post(`/v1/tenants/${tenant.id}/domains`, { name })).status, 201)
  }
  return { account, box, sink, from: `a@t0-${accounts}.sluice.test` }
}

const send = (account: TestAccount, from: string, fields: object = {}) =>
  account.api.post('/v1/messages', { tenant_id: account.tenant.id, from, to: ['u@example.com'], text: 'x', ...fields })

async function pause({ api }: TestAccount, scope_type: string, scope_value: string, fields: object = {}) {
  const { status, body } = await api.post('/v1/suspensions', { scope_type, scope_value, ...fields })
  assert.equal(status, 201, JSON.stringify(body))
  return body
}

const resume = async ({ api }: TestAccount, id: string, order: object = {}) => {
  const { status, body } = await api.post(`/v1/suspensions/${id}/resume`, order)
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

const heldCount = async ({ api }: TestAccount, id: string): Promise<number> =>
  (await api.get(`/v1/suspensions/${id}`)).body.held_count

const countsOf = async ({ api }: TestAccount, id: string) => (await api.get(`/v1/messages/${id}`)).body.counts

const becomes = (account: TestAccount, id: string, counts: Record<string, number>) =>
  eventually(`${id} ${JSON.stringify(counts)}`, async () => {
    const found = await countsOf(account, id)
    return Object.entries(counts).every(([status, count]) => found[status] === count)
  })

/** What the counts of pauses say is what the queue says. */
async function assertConserved({ app }: Box): Promise<void> {
  const wrong = await app.world.db.many(sql`
    select s.id, s.scope_type, counted.held, actual.held as found from suspensions s
    left join lateral (select coalesce(sum(held), 0) as held from suspension_holds h where h.suspension_id = s.id) counted
      on true
    left join lateral (select count(*) as held from queue q where q.suspension_id = s.id and q.status = 'held') actual
      on true
    where counted.held <> actual.held`)
  assert.deepEqual(wrong, [])
}

test('with hold new mail is accepted and held, named by the broadest scope, and released on resume', async () => {
  const { account, box, sink, from } = await aSender()
  const tenantPause = await pause(account, 'tenant', account.tenant.id)
  await pause(account, 'rule', 'tag:red')
  const { status, body } = await send(account, from, { to: ['a@x.example', 'b@x.example'], tags: ['red'] })
  assert.equal(status, 202)
  assert.deepEqual([body.queued, body.held, body.hold_scope], [0, 2, `tenant:${account.tenant.id}`])
  assert.equal(await heldCount(account, tenantPause.id), 2)
  assert.equal((await countsOf(account, body.message_id)).held, 2)

  const plain = await send(account, from)
  const resumed = await resume(account, tenantPause.id)
  // The tagged mail stays held by the other pause, and is not counted.
  assert.equal(resumed.affected_deliveries, 1)
  await becomes(account, plain.body.message_id, { delivered: 1 })
  assert.deepEqual(await countsOf(account, body.message_id).then(({ held }) => held), 2)
  assert.equal(await heldCount(account, tenantPause.id), 0)
  await assertConserved(box)
  const { body: events } = await account.api.get(`/v1/events?message_id=${plain.body.message_id}`)
  assert.deepEqual(
    events.events.map((event: { type: string }) => event.type),
    ['delivered', 'released', 'held', 'accepted'],
  )
  assert.equal(sink.received.filter(mail => mail.recipients.includes('a@x.example')).length, 0)
})

test('with reject new mail is refused with 403, and that is an event; queued mail is held', async () => {
  const { account, sink, from } = await aSender()
  sink.answer = (verb, line) => (verb === 'RCPT' && line.includes('later@') ? '451 4.2.0 Later' : null)
  const before = await send(account, from, { to: ['later@example.com'] })
  await becomes(account, before.body.message_id, { deferred: 1 })
  const paused = await pause(account, 'tenant', account.tenant.id, { queue_action: 'reject' })
  await becomes(account, before.body.message_id, { held: 1 })
  const refused = await send(account, from)
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'sending_suspended'])
  const { body } = await account.api.get('/v1/events?type=rejected')
  assert.deepEqual(body.events[0].data, {
    suspension_id: paused.id,
    scope: `tenant:${account.tenant.id}`,
    recipients: 1,
  })
  sink.answer = () => null
  assert.equal((await resume(account, paused.id)).affected_deliveries, 1)
  await becomes(account, before.body.message_id, { delivered: 1 })
})

test('each scope stops what it names and nothing else', async () => {
  const { account, box, from } = await aSender(2)
  const second = account.tenants[1]!
  const otherFrom = from.replace('t0-', 't1-')
  const key = await account.api.post('/v1/api-keys', { name: 'k', scopes: ['send'], tenant_id: account.tenant.id })
  const withKey = box.client(key.body.secret)
  const mails = {
    plain: () => send(account, from),
    tagged: () => send(account, from, { tags: ['blue', 'sale'] }),
    elsewhere: () => send(account, from, { to: ['u@other.example'] }),
    sender: () => send(account, from.replace('a@', 'News@')),
    second: () => send(account, otherFrom, { tenant_id: second.id }),
    key: () => withKey.post('/v1/messages', { from, to: ['u@example.com'], text: 'x' }),
  }
  const stops: [string, string, (keyof typeof mails)[]][] = [
    ['rule', 'tag:sale', ['tagged']],
    ['rule', 'recipient_domain:other.example', ['elsewhere']],
    ['sender', from.replace('a@', 'news@'), ['sender']],
    ['domain', otherFrom.split('@')[1]!, ['second']],
    ['api_key', key.body.id, ['key']],
    ['tenant', second.id, ['second']],
  ]
  for (const [type, value, stopped] of stops) {
    const { id } = await pause(account, type, value)
    for (const [name, mail] of Object.entries(mails)) {
      const { body } = await mail()
      assert.equal(body.held, stopped.includes(name as keyof typeof mails) ? 1 : 0, `${type}:${value} and ${name}`)
    }
    assert.equal((await resume(account, id, { action: 'purge' })).affected_deliveries, stopped.length)
    await eventually('the queue is empty', async () => {
      const { queued, sending, held, deferred } = (await account.api.get('/v1/queue')).body
      return queued + sending + held + deferred === 0
    })
  }
  await assertConserved(box)
})

test('what waits in the queue is parked behind the answer, whatever finds it, and released whole', async () => {
  const { account, box, sink, from } = await aSender()
  sink.answer = verb => (verb === 'MAIL' ? '450 4.2.0 Come back' : null)
  const ids: string[] = []
  for (let n = 0; n < 3; n++) {
    const to = Array.from({ length: 900 }, (_, index) => `u${n}-${index}@example.com`)
    ids.push((await send(account, from, { to, tags: ['bulk'] })).body.message_id)
  }
  for (const id of ids) await becomes(account, id, { deferred: 900 })
  const paused = await pause(account, 'rule', 'tag:bulk')
  await eventually('all are held', async () => (await heldCount(account, paused.id)) === 2_700)
  await assertConserved(box)
  sink.answer = () => null
  const resumed = await resume(account, paused.id, { note: 'fine now' })
  assert.equal(resumed.affected_deliveries, 2_700)
  for (const id of ids) await becomes(account, id, { delivered: 900 })
  const { body } = await account.api.get(`/v1/events?type=released&message_id=${ids[0]}&limit=500`)
  assert.equal(body.events.length, 500)
  assert.deepEqual(body.events[0].data, { suspension_id: paused.id, scope: 'rule:tag:bulk' })
  await assertConserved(box)
  assert.equal(await heldCount(account, paused.id), 0)
})

test('a purge right after the pause takes all that waited, parked or not', async () => {
  const { account } = await aSender()
  const sandbox = await anAccount({ box: account.box, sandbox: true })
  const tenantId = sandbox.tenant.id
  await sandbox.api.patch(`/v1/tenants/${tenantId}`, { max_recipients_per_message: 10_000 })
  const to = Array.from({ length: 2_500 }, (_, index) => `defer-${index}@purged.example`)
  const { body } = await sandbox.api.post('/v1/messages', {
    tenant_id: tenantId,
    from: 'a@acme.example',
    to,
    text: 'x',
  })
  await becomes(sandbox, body.message_id, { deferred: to.length })
  const { id } = await pause(sandbox, 'tenant', tenantId)
  const resumed = await resume(sandbox, id, { action: 'purge' })
  assert.equal(resumed.affected_deliveries, to.length)
  await becomes(sandbox, body.message_id, { cancelled: to.length })
})

test('a purge right after the pause takes what was claimed and waits for a connection', async t => {
  const { account, sink, from } = await aSender(1, aRoutedBox(t))
  sink.slowMs = 400
  const to = Array.from({ length: 120 }, (_, index) => `c${index}@slow.example`)
  const sent = await Promise.all(to.map(each => send(account, from, { to: [each] })))
  await eventually('some are being taken', async () => sink.received.length > 0)
  const { id } = await pause(account, 'tenant', account.tenant.id)
  const begun = sink.received.length
  await resume(account, id, { action: 'purge' })
  const isDecided = async ({ body }: (typeof sent)[number]): Promise<boolean> => {
    const { delivered = 0, cancelled = 0 } = await countsOf(account, body.message_id)
    return delivered + cancelled === 1
  }
  await eventually('all is decided', async () => (await Promise.all(sent.map(isDecided))).every(Boolean))
  // Those in the middle of their transaction, one for each connection.
  assert.ok(sink.received.length - begun <= 20, `${sink.received.length - begun} left after the pause`)
})

test('purge cancels what is held, once each', async () => {
  const { account, box, sink, from } = await aSender()
  const paused = await pause(account, 'tenant', account.tenant.id)
  const to = Array.from({ length: 40 }, (_, index) => `p${index}@purged.example`)
  const { body } = await send(account, from, { to })
  const [first, second] = await Promise.all([
    resume(account, paused.id, { action: 'purge' }),
    resume(account, paused.id, { action: 'purge' }),
  ])
  assert.deepEqual(
    [first.affected_deliveries, second.affected_deliveries].toSorted((a, b) => a - b),
    [0, 40],
  )
  await becomes(account, body.message_id, { cancelled: 40 })
  const { body: events } = await account.api.get(`/v1/events?type=cancelled&message_id=${body.message_id}`)
  assert.equal(events.events.length, 40)
  await assertConserved(box)
  assert.equal(sink.received.filter(mail => mail.recipients.some(to => to.endsWith('@purged.example'))).length, 0)
})

test('of overlapping pauses each releases only what no other matches, in either order', async () => {
  const { account, box, from } = await aSender()
  const wide = await pause(account, 'tenant', account.tenant.id)
  const narrow = await pause(account, 'rule', 'tag:both')
  const both = await send(account, from, { tags: ['both'] })
  const one = await send(account, from)
  assert.equal(await heldCount(account, wide.id), 2)
  assert.equal((await resume(account, narrow.id)).affected_deliveries, 0)
  const again = await pause(account, 'rule', 'tag:both')
  assert.equal((await resume(account, wide.id)).affected_deliveries, 1)
  await becomes(account, one.body.message_id, { delivered: 1 })
  assert.equal(await heldCount(account, again.id), 1)
  await assertConserved(box)
  assert.equal((await resume(account, again.id)).affected_deliveries, 1)
  await becomes(account, both.body.message_id, { delivered: 1 })
  const { body } = await account.api.get(`/v1/events?message_id=${both.body.message_id}`)
  assert.deepEqual(
    body.events.map((event: { type: string }) => event.type),
    ['delivered', 'released', 'held', 'accepted'],
  )
})

test('beside a thousand other pauses a large hold is resumed, and keeps back exactly what they match', async t => {
  // A box of its own: its workers would be busy with eight thousand mails while the next tests wait for theirs.
  const { account, box, from } = await aSender(1, aRoutedBox(t))
  const { db } = box.app.world
  const wide = await pause(account, 'tenant', account.tenant.id)
  await account.api.patch(`/v1/tenants/${account.tenant.id}`, { max_recipients_per_message: 10_000 })
  const to = Array.from({ length: 8_000 }, (_, n) => `u${n}@released.example`)
  const large = await send(account, from, { to })
  const tagged = await send(account, from, { to: ['a@one.example', 'b@one.example'], tags: ['plain', 't998'] })
  await send(account, from, { to: ['c@two.example', 'd@kept.example'] })
  assert.equal(await heldCount(account, wide.id), 8_004)
  await db.many(sql`
    insert into suspensions (id, account_id, scope_type, scope_value, queue_action, source, created_by, created_at, held_since)
    select gen_random_uuid(), ${account.id}, 'rule', case when n % 2 = 0 then 'tag:t' || n else
      'recipient_domain:' || case n when 999 then 'kept' else 'never' || n end || '.example' end,
      'hold', 'api', 'test', now(), now()
    from generate_series(1, 999) as n`)

  const resumed = await resume(account, wide.id, { action: 'release' })

  assert.equal(resumed.affected_deliveries, 8_001)
  assert.equal(large.status, 202)
  await eventually('all the rest is queued', async () => isDrained(box, wide.id), 30_000)
  assert.equal((await countsOf(account, tagged.body.message_id)).held, 2)
  const kept = await db.many<{ scope_value: string; held: number }>(sql`
    select s.scope_value, sum(h.held)::integer as held from suspensions s join suspension_holds h on h.suspension_id = s.id
    where s.account_id = ${account.id} and s.status = 'active' group by s.scope_value order by s.scope_value`)
  assert.deepEqual(kept, [
    { scope_value: 'recipient_domain:kept.example', held: 1 },
    { scope_value: 'tag:t998', held: 2 },
  ])
  await resume(account, (await pause(account, 'tenant', account.tenant.id)).id, { action: 'purge' })
  await assertConserved(box)
})

/** As if what the first held were still to be moved to the second. */
async function putBack({ app }: Box, fromId: string, toId: string): Promise<void> {
  await app.world.db.transact(system('test'), async tx => {
    const moved = await tx.run(sql`update queue set suspension_id = ${fromId} where suspension_id = ${toId}`)
    await tx.run(sql`insert into suspension_holds values (${fromId}, ${moved}), (${toId}, ${-moved})`)
    await tx.run(sql`update suspensions set drained_at = null, kept_by = array[${toId}::uuid] where id = ${fromId}`)
  })
}

const isDrained = async ({ app }: Box, id: string): Promise<boolean> => {
  const { drained_at } = await app.world.db.one<{ drained_at: Date | null }>(
    sql`select drained_at from suspensions where id = ${id}`,
  )
  return drained_at !== null
}

test('what was on its way to a broader pause is purged with it, or kept by a third one that matches it', async () => {
  const { account, box, from } = await aSender()
  const narrow = await pause(account, 'tenant', account.tenant.id)
  const plain = await send(account, from)
  const tagged = await send(account, from, { tags: ['kept'] })
  const wide = await pause(account, 'account', account.id)
  await resume(account, narrow.id)
  await eventually('it is moved', () => isDrained(box, narrow.id))
  await putBack(box, narrow.id, wide.id)
  const third = await pause(account, 'rule', 'tag:kept')
  assert.equal((await resume(account, wide.id)).affected_deliveries, 1)
  await becomes(account, plain.body.message_id, { delivered: 1 })
  assert.equal(await heldCount(account, third.id), 1)

  const again = await pause(account, 'account', account.id)
  await resume(account, third.id)
  await eventually('it is moved', () => isDrained(box, third.id))
  await putBack(box, third.id, again.id)
  assert.equal((await resume(account, again.id, { action: 'purge' })).affected_deliveries, 1)
  await becomes(account, tagged.body.message_id, { cancelled: 1 })
  await assertConserved(box)
})

test('mail that was being sent when the pause came is held when it comes back, and a purge takes it', async t => {
  const { box, sink } = await aRoutedBox(t)
  const account = await anAccount({ box })
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'late.sluice.test' })
  let hanging = 0
  sink.answer = verb => {
    if (verb === 'RCPT') hanging += 1
    return verb === 'RCPT' || verb === 'DATA' ? 'HANG' : null
  }
  const mails = [await send(account, 'a@late.sluice.test'), await send(account, 'a@late.sluice.test')]
  await eventually('both are being sent', async () => hanging === 2)
  const paused = await pause(account, 'tenant', account.tenant.id)
  sink.hangUp()
  await eventually('they are held', async () => (await heldCount(account, paused.id)) === 2)
  await assertConserved(box)
  const { body: events } = await account.api.get(`/v1/events?message_id=${mails[0]!.body.message_id}`)
  assert.deepEqual(
    events.events.map((event: { type: string }) => event.type),
    ['held', 'deferred', 'accepted'],
  )
  sink.answer = () => null
  assert.equal((await resume(account, paused.id, { action: 'purge' })).affected_deliveries, 2)
  for (const { body } of mails) await becomes(account, body.message_id, { cancelled: 1 })
  assert.equal(sink.received.length, 0)
})

test('a resume goes before pauses that would go on parking', async () => {
  const { account, box } = await aSender()
  const paused = await pause(account, 'tenant', account.tenant.id)
  const { db } = box.app.world
  const lockShared = (tx: Tx) => lockWhileActive(tx, { ...paused, account_id: account.id })
  const waiting = async (): Promise<number> =>
    (
      await db.one<{ count: number }>(sql`
        select count(*) from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`)
    ).count
  const { promise: end, resolve } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const first = db.transact(system('test'), async tx => {
    assert.equal(await lockShared(tx), true)
    begin()
    await end
  })
  await begun
  const resumed = resume(account, paused.id)
  await eventually('the resume waits for the lock', async () => (await waiting()) >= 1)
  const second = db.transact(system('test'), lockShared)
  await eventually('the next one waits behind it', async () => (await waiting()) >= 2)
  resolve()
  assert.equal(await second, false)
  await Promise.all([first, resumed])
})

test('who has nothing to resume, and another account, wait for no resume', async () => {
  const { account, box } = await aSender()
  const { account: other } = await aSender()
  const [slow, done, ofOther] = await Promise.all([
    pause(account, 'rule', 'tag:slow'),
    pause(account, 'rule', 'tag:done'),
    pause(other, 'rule', 'tag:any'),
  ])
  await resume(account, done.id)
  const { promise: end, resolve } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const holding = box.app.world.db.transact(system('test'), async tx => {
    await lockAccountExclusively(tx, account.id)
    begin()
    await end
  })
  await begun
  let isAnswered = false
  const waiting = resume(account, slow.id).then(() => (isAnswered = true))
  await resume(other, ofOther.id)
  assert.equal((await resume(account, done.id)).affected_deliveries, 0)
  const unknown = await account.api.post(`/v1/suspensions/${account.tenant.id}/resume`, {})
  const unpaused = await account.api.post(`/v1/tenants/${account.tenant.id}/resume`, {})
  assert.deepEqual([unknown.status, unpaused.status, isAnswered], [404, 404, false])
  resolve()
  await Promise.all([holding, waiting])
})

test('pauses that are resumed at once do not make each other start again', async () => {
  const { account, box, from } = await aSender()
  const ids: string[] = []
  for (let n = 0; n < 40; n++) {
    ids.push((await pause(account, 'rule', `tag:t${n}`)).id)
    await send(account, from, { tags: [`t${n}`] })
  }
  const { db } = box.app.world
  const transact = db.transact.bind(db)
  let tries = 0
  db.transact = (by, recipe) => {
    if (by.action === 'suspension.resume') tries += 1
    return transact(by, recipe)
  }
  const resumed = await Promise.all(ids.map(id => resume(account, id)))
  db.transact = transact

  assert.equal(tries, ids.length)
  assert.equal(
    resumed.reduce((sum, { affected_deliveries: affected }) => sum + affected, 0),
    ids.length,
  )
  await assertConserved(box)
})

test('what a broader pause keeps is its own at once, however often it is handed on', async () => {
  const { account, box, from } = await aSender()
  const narrow = await pause(account, 'tenant', account.tenant.id)
  const mails = [await send(account, from), await send(account, from)]
  const middle = await pause(account, 'account', account.id)
  const answer = await resume(account, narrow.id)
  assert.equal(answer.affected_deliveries, 0)
  await eventually('it is moved', async () => (await heldCount(account, middle.id)) === 2)
  assert.equal(await heldCount(account, narrow.id), 0)
  const { db } = box.app.world
  await eventually('that is noted', () => isDrained(box, narrow.id))
  const since = await db.many<{ held_since: Date }>(
    sql`select held_since from suspensions where id in (${narrow.id}, ${middle.id})`,
  )
  assert.deepEqual(since[0], since[1], 'its time of being held goes on')

  // On its way to a pause that is resumed itself: released with it, and counted there.
  await putBack(box, narrow.id, middle.id)
  assert.equal((await resume(account, middle.id)).affected_deliveries, 2)
  for (const mail of mails) await becomes(account, mail.body.message_id, { delivered: 1 })
  await assertConserved(box)
  const { body } = await account.api.get(`/v1/events?message_id=${mails[0]!.body.message_id}`)
  assert.deepEqual(
    body.events.map((event: { type: string }) => event.type),
    ['delivered', 'released', 'held', 'accepted'],
  )
})

test('mail held for longer than the account allows expires', async t => {
  const { box, sink } = await aRoutedBox(t)
  const account = await anAccount({ box })
  const name = 'ttl.sluice.test'
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name })
  await account.api.patch('/v1/account', { hold_ttl_seconds: 3600 })
  const paused = await pause(account, 'tenant', account.tenant.id)
  const old = await send(account, `a@${name}`)
  const expire = box.app.workers.find(worker => worker.name === 'hold-expiry')!
  assert.equal(expire.kind, 'periodic')
  const run = () => (expire.kind === 'periodic' ? expire.run(box.app.world, new AbortController().signal) : null)
  box.clock.advance(3_590_000)
  const young = await send(account, `a@${name}`)
  await run()
  assert.equal((await countsOf(account, old.body.message_id)).held, 1)
  // Set aside by no pause, as after too many crashes: it is given up after the same time.
  const aside = await send(account, `a@${name}`)
  await box.app.world.db.transact(system('test'), async tx => {
    await tx.run(sql`insert into suspension_holds values (${paused.id}, -1)`)
    await tx.run(sql`update queue set suspension_id = null, held_at = ${tx.now}::timestamptz - interval '3595 seconds'
      where message_id = ${aside.body.message_id}`)
  })
  await run()
  assert.equal((await countsOf(account, aside.body.message_id)).held, 1)
  box.clock.advance(20_000)
  // What the account raises while the worker is at it holds at once.
  const { db } = box.app.world
  const many = db.many.bind(db)
  const listed = t.mock.method(db, 'many', async (query: Parameters<typeof many>[0]) => {
    const rows = await many(query)
    if (!JSON.stringify(query).includes('held_since')) return rows
    listed.mock.restore()
    await account.api.patch('/v1/account', { hold_ttl_seconds: 7200 })
    return rows
  })
  await run()
  assert.equal((await countsOf(account, old.body.message_id)).held, 1)
  await account.api.patch('/v1/account', { hold_ttl_seconds: 3600 })
  await run()
  assert.equal((await countsOf(account, aside.body.message_id)).expired, 1)
  assert.equal((await countsOf(account, old.body.message_id)).expired, 1)
  assert.equal((await countsOf(account, young.body.message_id)).held, 1)
  assert.equal(await heldCount(account, paused.id), 1)
  const { body } = await account.api.get(`/v1/events?type=expired&message_id=${old.body.message_id}`)
  assert.equal(body.events[0].data.reason, 'held_too_long')
  assert.equal((await resume(account, paused.id)).affected_deliveries, 1)
  await becomes(account, young.body.message_id, { delivered: 1 })
  assert.equal(sink.received.length, 1)
})

test('the time that mail was held does not count against its retries', async t => {
  const box = await aBox({ until: t })
  const account = await anAccount({ box, sandbox: true })
  await account.api.patch('/v1/account', { hold_ttl_seconds: 30 * 86_400 })
  const paused = await pause(account, 'tenant', account.tenant.id)
  const { body } = await send(account, 'a@acme.example', { to: ['defer@example.com'] })
  box.clock.advance(80 * 3_600_000)
  await resume(account, paused.id)
  await becomes(account, body.message_id, { deferred: 1 })
  box.clock.advance(3_600_000)
  await becomes(account, body.message_id, { delivered: 1 })
})

test('a domain or sender that is paused is parked for every tenant that has mail from it', async () => {
  const account = await anAccount({ sandbox: true, tenants: 2 })
  const name = 'parked.example'
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name })
  for (const [type, value] of Object.entries({ domain: name, sender: `a@${name}` })) {
    const sent: string[] = []
    for (const { id } of account.tenants) {
      const { body } = await send(account, `A@${name}`, { tenant_id: id, to: ['defer@example.com'] })
      await becomes(account, body.message_id, { deferred: 1 })
      sent.push(body.message_id)
    }
    const paused = await pause(account, type, value)
    for (const id of sent) await becomes(account, id, { held: 1 })
    assert.equal(await heldCount(account, paused.id), 2)
    assert.equal((await resume(account, paused.id)).affected_deliveries, 2)
    for (const id of sent) await becomes(account, id, { delivered: 1 })
  }
})

test('to a tenant’s key, what a pause across tenants says of others is left out', async () => {
  const account = await anAccount({ sandbox: true, tenants: 2 })
  const { id } = await pause(account, 'rule', 'tag:news')
  await send(account, 'a@acme.example', { tags: ['news'], to: ['a@example.com', 'b@example.com'] })
  const bound = await account.withKey({ scopes: ['read'], tenant_id: account.tenants[1]!.id })
  const { body } = await bound.get('/v1/suspensions')
  assert.equal(body.suspensions[0].id, id)
  assert.equal('held_count' in body.suspensions[0] || 'created_by' in body.suspensions[0], false)
  assert.equal('held_count' in (await bound.get(`/v1/suspensions/${id}`)).body, false)
  assert.equal(await heldCount(account, id), 2)
})

test('released mail is ranked at the end of its tenant’s line, as new mail does', async t => {
  // A box of its own: whatever else is queued decides where a line ends.
  const { account, box, sink, from } = await aSender(1, aRoutedBox(t))
  sink.answer = verb => (verb === 'MAIL' ? '450 4.2.0 Come back' : null)
  const paused = await pause(account, 'tenant', account.tenant.id)
  const to = Array.from({ length: 500 }, (_, index) => `f${index}@example.com`)
  const { body } = await send(account, from, { to })
  box.clock.advance(60_000)
  const resumedAt = box.clock.now().getTime()
  await resume(account, paused.id)
  await becomes(account, body.message_id, { deferred: 500 })
  const rows = await box.app.world.db.many<{ rank: Date }>(sql`
    select rank from queue where message_id = ${body.message_id} order by rank`)
  assert.equal(new Set(rows.map(({ rank }) => rank.getTime())).size, 500)
  assert.ok(rows[0]!.rank.getTime() >= resumedAt)
  sink.answer = () => null
  await assertConserved(box)
})
