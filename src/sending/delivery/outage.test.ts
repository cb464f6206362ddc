// The database goes away while mail is being sent: what the receiver said is kept and recorded when it is back, and nobody
// who lived through it is taken for dead.
// Waits more than it works.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { aBox, aDatabase, type Box } from '../../../test/support/box.ts'
import { aDatabaseProxy, type DatabaseProxy } from '../../../test/support/database-proxy.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { aSink, type TestSink } from '../../../test/support/sink.ts'

const undo: (() => Promise<void>)[] = []
after(async () => {
  for (const each of undo) await each()
})

interface Site {
  box: Box
  /** Past the proxy. */
  databaseUrl: string
  account: TestAccount
  sink: TestSink
  proxy: DatabaseProxy
}

async function aSite(): Promise<Site> {
  const sink = await aSink()
  const databaseUrl = await aDatabase()
  const proxy = await aDatabaseProxy(databaseUrl)
  undo.push(async () => sink.close())
  const box = await aBox({ databaseUrl: proxy.url, environment: { SMTP_ROUTES: `*=127.0.0.1:${sink.port}` } })
  undo.push(async () => {
    await box.close()
    proxy.cut()
  })
  const account = await anAccount({ box })
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'acme.sluice.test' })
  return { box, databaseUrl, account, sink, proxy }
}

async function send({ account }: Site, to: string[]): Promise<string> {
  const message = { tenant_id: account.tenant.id, from: 'a@acme.sluice.test', to, text: 'x' }
  const { status, body } = await account.api.post('/v1/messages', message)
  assert.equal(status, 202, JSON.stringify(body))
  return body.message_id
}

const becomes = ({ account }: Site, id: string, counts: Record<string, number>) =>
  eventually(JSON.stringify(counts), async () => {
    const found = (await account.api.get(`/v1/messages/${id}`)).body.counts ?? {}
    return Object.entries(counts).every(([status, count]) => found[status] === count)
  })

const eventsOf = async ({ account }: Site, id: string): Promise<string[]> =>
  (await account.api.get(`/v1/events?message_id=${id}`)).body.events.map((event: { type: string }) => event.type)

test('mail that the receiver took while the database was away is recorded, not sent again', async () => {
  const site = await aSite()
  const { box, proxy, sink } = site
  for (const round of [1, 2]) {
    sink.answer = verb => {
      if (verb === 'CONTENT') proxy.cut()
      return null
    }
    const id = await send(site, [`taken${round}@one.example`, `taken${round}@two.example`])
    await eventually('the receiver has it', async () => sink.received.length === 2 * round, 20_000)
    sink.answer = () => null
    // Longer than any lease.
    box.clock.advance(40_000)
    proxy.restore()
    await becomes(site, id, { delivered: 2 })
    assert.deepEqual((await eventsOf(site, id)).toSorted(), ['accepted', 'accepted', 'delivered', 'delivered'])
  }
  assert.equal(sink.received.length, 4)
})

test('a refusal that came while the database was away is recorded, with its suppression', async () => {
  const site = await aSite()
  site.sink.answer = verb => {
    if (verb !== 'RCPT') return null
    site.proxy.cut()
    return '550 5.1.1 No such user'
  }
  const id = await send(site, ['gone@example.com'])
  await eventually('it is away', async () => (await site.account.api.get('/v1/queue')).status === 503)
  site.proxy.restore()
  await becomes(site, id, { bounced: 1 })
  assert.equal((await site.account.api.get('/v1/suppressions')).body.entries.length, 1)
})

test('an outcome whose record takes too long keeps those of other accounts from nothing, and is not forgotten', async () => {
  const site = await aSite()
  const { box, sink } = site
  const other = await anAccount({ box })
  await other.api.post(`/v1/tenants/${other.tenant.id}/domains`, { name: 'other.sluice.test' })
  const { db } = box.app.world
  await db.transact(system('test'), async tx => {
    await tx.run(sql`
      create function take_too_long() returns trigger language plpgsql as $$
      begin raise exception 'canceling statement due to statement timeout' using errcode = '57014'; end $$`)
    await tx.run(sql`
      create trigger slow before delete on queue for each row when (old.recipient_domain = 'slow.example')
      execute function take_too_long()`)
  })
  const slow = await send(site, ['a@slow.example', 'b@slow.example'])
  const quick = { ...site, account: other }
  const sent = await other.api.post('/v1/messages', {
    tenant_id: other.tenant.id,
    from: 'a@other.sluice.test',
    to: ['a@quick.example'],
    text: 'x',
  })
  await becomes(quick, sent.body.message_id, { delivered: 1 })
  await eventually('all have it', async () => sink.received.length === 3)
  assert.notEqual((await site.account.api.get(`/v1/messages/${slow}`)).body.counts.delivered, 2)
  await db.transact(system('test'), tx => tx.run(sql`drop trigger slow on queue`))
  await becomes(site, slow, { delivered: 2 })
  assert.equal(sink.received.length, 3, 'nothing is sent again')
})

test('a claim that a crash of the database has undone is taken back by the process that is sending', async t => {
  const site = await aSite()
  const { proxy, sink } = site
  sink.answer = verb => {
    if (verb === 'CONTENT') proxy.cut()
    return null
  }
  const id = await send(site, ['undone@example.com'])
  await eventually('the receiver has it', async () => sink.received.length === 1)
  // As after a crash: the row is as it was before the claim.
  const other = await aBox({ until: t, databaseUrl: site.databaseUrl, environment: { ROLES: 'api' } })
  await other.app.world.db.transact(system('test'), tx =>
    tx.run(sql`update queue set status = 'queued', lease_token = null, lease_until = null, attempts = attempts - 1`),
  )
  proxy.restore()
  await becomes(site, id, { delivered: 1 })
  assert.equal(sink.received.length, 1)
  assert.deepEqual(await eventsOf(site, id), ['delivered', 'accepted'])
})

test('a process that ends while the database is away says how many outcomes it takes with it', async () => {
  const site = await aSite()
  const { box, proxy, sink } = site
  sink.answer = verb => {
    if (verb === 'CONTENT') proxy.cut()
    return null
  }
  await send(site, ['taken@example.com'])
  await eventually('the receiver has it', async () => sink.received.length === 1)
  const began = performance.now()
  await box.close()
  assert.ok(performance.now() - began < 29_000, 'it ends in time')
  const line = box.logLines.find(each => each.includes('known outcomes are lost'))
  assert.equal(JSON.parse(line ?? '{}').outcomes, 1)
})
