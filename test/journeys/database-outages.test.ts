// Two short outages of the database under two servers, with no process dying: every recipient gets one copy, every event is
// pushed once, nothing is set aside and nothing is lost.
// Waits more than it works.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from '../../src/platform/db/sql.ts'
import { aReceiver } from '../../src/platform/net/receiver.fixture.ts'
import { aBox, aDatabase } from '../support/box.ts'
import { aDatabaseProxy } from '../support/database-proxy.ts'
import { anAccount, eventually } from '../support/factories.ts'
import { aSink } from '../support/sink.ts'

const OUTAGES = 2
const PER_OUTAGE = 60

const undo: (() => Promise<unknown>)[] = []
after(async () => {
  for (const each of undo.toReversed()) await each()
})

test('two outages of the database: one copy each, each event pushed once, nothing set aside or lost', async () => {
  const sink = await aSink()
  const receiver = await aReceiver()
  const proxy = await aDatabaseProxy(await aDatabase())
  undo.push(sink.close, receiver.close, async () => proxy.cut())
  const environment = { SMTP_ROUTES: `*=127.0.0.1:${sink.port}`, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' }
  const boxes = [
    await aBox({ databaseUrl: proxy.url, environment }),
    await aBox({ databaseUrl: proxy.url, environment }),
  ]
  for (const box of boxes) undo.push(box.close)
  const account = await anAccount({ box: boxes[0]! })
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'acme.sluice.test' })
  const hook = await account.api.post('/v1/webhooks', { url: `${receiver.url}/hook` })
  assert.equal(hook.status, 201)
  const { db } = boxes[0]!.app.world
  const undecided = async (): Promise<number> =>
    (await db.one<{ count: number }>(sql`select count(*)::integer as count from queue`)).count
  const mailEvents = () =>
    db.many<{ id: number }>(sql`
      select id from events where account_id = ${account.id} and type in ('accepted', 'delivered')`)
  const isAllPushed = async (): Promise<boolean> => {
    const pushed = new Set(receiver.of('/hook').map(push => push.event.id))
    return (await mailEvents()).every(({ id }) => pushed.has(id))
  }

  for (let outage = 1; outage <= OUTAGES; outage++) {
    let taken = 0
    // In the middle of the mail; later, the middle of the pushes.
    sink.answer = verb => {
      if (verb === 'CONTENT' && ++taken === PER_OUTAGE / 3) proxy.cut()
      return null
    }
    const to = Array.from({ length: PER_OUTAGE }, (_, n) => `u${n}@o${outage}-${n}.example`)
    for (let n = 0; n < PER_OUTAGE; n += 10) {
      const message = { tenant_id: account.tenant.id, from: 'a@acme.sluice.test', to: to.slice(n, n + 10), text: 'x' }
      const { status } = await account.api.post('/v1/messages', message)
      if (status !== 202) n -= 10
      if (taken >= PER_OUTAGE / 3) break
    }
    await eventually('it is away', async () => (await account.api.get('/v1/queue')).status === 503)
    proxy.restore()
    // A claim whose answer was lost in the outage comes back when its lease lapses.
    let polls = 0
    await eventually(
      `all is decided after outage ${outage}`,
      async () => {
        if (++polls % 100 === 0) for (const box of boxes) box.clock.advance(31_000)
        return (await undecided().catch(() => 1)) === 0 && (await isAllPushed())
      },
      60_000,
    )
  }

  const accepted = await db.one<{ count: number }>(sql`select count(*)::integer as count from deliveries`)
  assert.ok(accepted.count >= OUTAGES * 20)
  const copies = Map.groupBy(
    sink.received.flatMap(mail => mail.recipients),
    recipient => recipient,
  )
  assert.equal(copies.size, accepted.count)
  assert.deepEqual(
    [...copies].filter(([, each]) => each.length > 1).map(([recipient]) => recipient),
    [],
  )
  const ends = await db.many<{ status: string }>(sql`select distinct status from deliveries`)
  assert.deepEqual(ends, [{ status: 'delivered' }])
  const pushed = receiver.of('/hook').map(push => push.event.id)
  assert.equal(pushed.length, new Set(pushed).size, 'no event was pushed twice')
  assert.equal((await mailEvents()).length, accepted.count * 2)
  const aside = await db.many(sql`select from events where type = 'anomaly_detected'`)
  assert.equal(aside.length, 0)
})
