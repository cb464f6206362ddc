// Alerts and their contacts: from the event to the person.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { Wakeups } from '../../platform/db/wakeups.ts'
import { raise, type Severity } from '../../platform/journal/anomaly.ts'
import { advanceTail, readTailOnce } from '../../platform/work/tail.ts'
import { cidrList } from '../../platform/net/cidr.ts'
import { Dns } from '../../platform/net/dns.ts'
import { GuardedHttp } from '../../platform/net/guarded-http.ts'
import { createMetrics } from '../../platform/metrics.ts'
import type { World } from '../../platform/world.ts'
import type { SendMail, Ways } from './channels.ts'
import { forgetOldAlerts, sealClearTargets } from './workers.ts'
import { quoted } from './mail-wording.ts'
import { notificationWorker } from './notification-worker.ts'
import { alertTail as tail } from './take-alerts.ts'

let quiet: Promise<Box> | null = null
/** Without a worker; private addresses may be reached; pages go to a server of the test. */
const aQuietBox = (): Promise<Box> =>
  (quiet ??= aBox({ environment: { ROLES: 'api', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } }))

interface Told {
  account: TestAccount
  box: Box
  /** Raises one, makes it an alert, and answers its id. */
  alert(severity?: Severity, tenantId?: string | null): Promise<string>
  tell(sendMail?: SendMail): Promise<number>
  contact(body: object): Promise<{ id: string; secret?: string }>
  contacts(): Promise<ContactView[]>
  statuses(): Promise<string[]>
}

interface ContactView {
  id: string
  target: string
  last_error: string | null
  last_delivered_at: string | null
}

/** As the supervisor does, until there is nothing to begin with and nobody wakes it; answers how many tries were made. */
async function tellDue(world: World, sendMail: SendMail): Promise<number> {
  const ways = waysOf(world, sendMail)
  const metrics = createMetrics()
  // Not the World's, where hints about new alerts arrive late.
  const wakeups = new Wakeups()
  const worker = notificationWorker({ ...world, metrics, wakeups }, ways)
  let isWoken = true
  wakeups.on('alerts', () => (isWoken = true))
  while (isWoken) {
    isWoken = false
    await worker.takeNext()
    await worker.idle(30_000)
  }
  await Promise.all([ways.http.close(), ways.paging.close()])
  const { values } = await metrics.registry.getSingleMetric('sluice_alert_notifications_total')!.get()
  return values.reduce((sum, { value }) => sum + value, 0)
}

function waysOf({ config }: World, sendMail: SendMail): Ways {
  const dns = new Dns({ servers: [] })
  return {
    sendMail,
    approvalLink: async () => null,
    http: new GuardedHttp({ dns, allowed: config.WEBHOOK_ALLOW_CIDRS }),
    paging: new GuardedHttp({ dns, allowed: cidrList(['0.0.0.0/0']) }),
  }
}

const noMail: SendMail = () => Promise.reject(new Error('nobody sends mail here'))

async function aToldAccount(given?: Box): Promise<Told> {
  const box = given ?? (await aQuietBox())
  const account = await anAccount({ tenants: 2, box })
  const { world } = box.app
  return {
    account,
    box,
    alert: async (severity = 'warning', tenantId = account.tenant.id) => {
      const id = await world.db.transact(system('test'), async tx =>
        raise(tx, {
          kind: 'rule',
          severity,
          title: 'Blocks of tenant x are 9.',
          accountId: account.id,
          tenantId,
          scope: 'tenant:x',
          facts: {
            rule: 'blocks',
            metric: 'blocks',
            value: 9,
            top_recipient_domains: [{ domain: 'a.example', count: 9 }],
          },
        }),
      )
      await readTailOnce(world, tail)
      while ((await advanceTail(world, tail)) > 0);
      return id
    },
    tell: (sendMail = noMail) => tellDue(world, sendMail),
    contact: async body => {
      const made = await account.api.post('/v1/alert-contacts', body)
      assert.equal(made.status, 201, JSON.stringify(made.body))
      return made.body
    },
    contacts: async () => (await account.api.get('/v1/alert-contacts')).body.contacts,
    statuses: async () =>
      (
        await world.db.many<{ status: string }>(sql`
          select n.status from alert_notifications n join alerts a on a.id = n.alert_id
          where a.account_id = ${account.id} order by a.id`)
      ).map(row => row.status),
  }
}

interface Receiver {
  url: string
  received: { path: string; headers: IncomingHttpHeaders; body: string }[]
  /** 0: none. */
  answer: number
  close(): void
}

async function aReceiver(t: TestContext): Promise<Receiver> {
  const receiver: Receiver = { url: '', received: [], answer: 200, close: () => {} }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => (body += String(chunk)))
    request.on('end', () => {
      receiver.received.push({ path: request.url ?? '', headers: request.headers, body })
      if (receiver.answer > 0) response.writeHead(receiver.answer).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  receiver.close = () => {
    server.closeAllConnections()
    server.close()
  }
  t.after(receiver.close)
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return receiver
}

test('every anomaly in the journal becomes one alert, however often it is read', async () => {
  const { account, box, alert } = await aToldAccount()
  const [first, second] = [await alert(), await alert('critical', null)]
  const { db } = box.app.world
  await db.transact(system('test'), tx => tx.run(sql`update tails set cursor = 0 where name = 'alerts'`))
  const third = await alert('info')
  const { alerts } = (await account.api.get('/v1/alerts')).body
  assert.deepEqual(
    alerts.map((each: { id: string }) => each.id),
    [third, second, first],
  )
  const { created_at, ...last } = alerts[2]
  assert.ok(Date.parse(created_at))
  assert.deepEqual(last, {
    id: first,
    tenant_id: account.tenant.id,
    kind: 'rule',
    severity: 'warning',
    title: 'Blocks of tenant x are 9.',
    scope: 'tenant:x',
    rule_id: null,
    rule: 'blocks',
    data: { metric: 'blocks', value: 9, top_recipient_domains: [{ domain: 'a.example', count: 9 }] },
    acked_at: null,
    acked_by: null,
  })
})

test('alerts come newest first in pages; unacked takes only 1', async () => {
  const { account, alert } = await aToldAccount()
  const ids = [await alert(), await alert(), await alert()].toReversed()
  const first = (await account.api.get('/v1/alerts?limit=2')).body
  const second = (await account.api.get(`/v1/alerts?limit=2&cursor=${first.next_cursor}`)).body
  assert.deepEqual(
    [...first.alerts, ...second.alerts].map((each: { id: string }) => each.id),
    ids,
  )
  assert.equal(second.next_cursor, null)
  for (const value of ['0', 'true', '', '2']) {
    assert.equal((await account.api.get(`/v1/alerts?unacked=${value}`)).status, 400, value)
  }
  await account.api.post(`/v1/alerts/${ids[1]}/ack`)
  const open = (await account.api.get('/v1/alerts?unacked=1')).body.alerts
  assert.deepEqual(
    open.map((each: { id: string }) => each.id),
    [ids[0], ids[2]],
  )
})

test('acknowledging twice is 204 both times and audited once', async () => {
  const { account, box, alert } = await aToldAccount()
  const id = await alert()
  const suspender = await account.withKey({ scopes: ['suspend'] })
  assert.equal((await suspender.post(`/v1/alerts/${id}/ack`)).status, 204)
  const [acked] = (await account.api.get('/v1/alerts')).body.alerts
  assert.equal(acked.acked_by, 'Test key')
  box.clock.advance(1000)
  assert.equal((await account.api.post(`/v1/alerts/${id}/ack`)).status, 204)
  assert.equal((await account.api.get('/v1/alerts')).body.alerts[0].acked_at, acked.acked_at)
  assert.equal((await account.api.get('/v1/audit?action=alert.ack')).body.entries.length, 1)
})

test("a tenant's key sees its own tenant's alerts, and another account's are not found", async () => {
  const { account, alert } = await aToldAccount()
  const stranger = await aToldAccount()
  const own = await alert('warning', account.tenant.id)
  const other = await alert('warning', account.tenants[1]!.id)
  await alert('warning', null)
  const bound = await account.withKey({ scopes: ['read'], tenant_id: account.tenant.id })
  assert.deepEqual(
    (await bound.get('/v1/alerts')).body.alerts.map((each: { id: string }) => each.id),
    [own],
  )
  assert.equal((await bound.post(`/v1/alerts/${own}/ack`)).status, 403)
  assert.equal((await bound.get('/v1/alert-contacts')).status, 403)
  assert.deepEqual((await stranger.account.api.get('/v1/alerts')).body.alerts, [])
  assert.equal((await stranger.account.api.post(`/v1/alerts/${other}/ack`)).status, 404)
  const { id } = await stranger.contact({ channel: 'email', target: 'a@example.com' })
  assert.equal((await account.api.delete(`/v1/alert-contacts/${id}`)).status, 404)
  assert.equal((await stranger.account.api.delete(`/v1/alert-contacts/${id}`)).status, 204)
})

test('targets are checked by their channel', async t => {
  const { account } = await aToldAccount()
  const status = async (channel: string, target: string) =>
    (await account.api.post('/v1/alert-contacts', { channel, target })).status
  assert.equal(await status('email', 'not an address'), 400)
  assert.equal(await status('email', 'a@example.com'), 201)
  for (const channel of ['webhook', 'chat']) {
    assert.equal(await status(channel, 'not a url'), 400)
    assert.equal(await status(channel, 'ftp://example.com/'), 400)
    assert.equal(await status(channel, 'http://10.0.0.1/'), 400)
    assert.equal(await status(channel, 'http://169.254.169.254/latest'), 400)
    assert.equal(await status(channel, 'https://user:pw@example.com/'), 400)
    assert.equal(await status(channel, 'http://127.0.0.1:9/hook'), 201)
  }
  assert.equal(await status('paging', 'two words'), 400)
  assert.equal(await status('paging', 'x'.repeat(201)), 400)
  assert.equal(await status('paging', 'schlüssel'), 400)
  assert.equal(await status('paging', 'R0123456789ABCDEF0123456789ABCDE'), 201)
  assert.equal(await status('paging', 'R1'), 201)
  assert.equal(await status('paging', 'team/on-call:7'), 201)
  assert.equal(await status('pigeon', 'x'), 400)
  const strict = await anAccount({ box: await aBox({ until: t, environment: { ROLES: 'api' } }) })
  const refused = await strict.api.post('/v1/alert-contacts', { channel: 'chat', target: 'http://127.0.0.1/' })
  assert.equal(refused.status, 400)
  assert.match(refused.body.error.message, /^target /)
})

test("a webhook's secret is shown once, is nowhere in clear, and signs what is posted", async t => {
  const { account, box, alert, contact, contacts, tell } = await aToldAccount()
  const receiver = await aReceiver(t)
  const { id, secret } = await contact({ channel: 'webhook', target: `${receiver.url}/hook` })
  assert.match(secret!, /^whsec_[\w-]{43}$/)
  assert.ok(!JSON.stringify(await contacts()).includes(secret!))
  const rows = await box.app.world.db.many(sql`select * from alert_contacts where id = ${id}`)
  const audit = await account.api.get('/v1/audit')
  for (const place of [rows, audit.body, box.logLines]) assert.ok(!JSON.stringify(place).includes(secret!.slice(6)))

  const alertId = await alert('critical')
  await tell()
  const [post] = receiver.received
  assert.equal(post!.path, '/hook')
  assert.equal(post!.headers['x-service-event'], 'alert')
  assert.equal(post!.headers['x-service-delivery-attempt'], '1')
  const [, stamp, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(post!.headers['x-service-signature']))!
  assert.equal(digest, createHmac('sha256', secret!).update(`${stamp}.${post!.body}`).digest('hex'))
  assert.ok(Math.abs(Number(stamp) - box.clock.now().getTime() / 1000) < 5)
  const body = JSON.parse(post!.body)
  assert.deepEqual([body.id, body.severity, body.data.metric], [alertId, 'critical', 'blocks'])
  assert.ok((await contacts())[0]!.last_delivered_at)
})

test('chat gets a text, paging an event of PagerDuty, email a mail', async t => {
  const receiver = await aReceiver(t)
  const box = await aBox({
    environment: { ROLES: 'api', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', PAGING_URL: `${receiver.url}/pd` },
  })
  const { alert, contact, tell, statuses } = await aToldAccount(box)
  await contact({ channel: 'chat', target: `${receiver.url}/chat` })
  await contact({ channel: 'paging', target: 'ROUTINGKEY0123' })
  await contact({ channel: 'email', target: 'oncall@example.com' })
  const mails: Parameters<SendMail>[0][] = []
  const alertId = await alert()
  const sendMail: SendMail = async mail => {
    mails.push(mail)
    return 'sent'
  }
  assert.equal(await tell(sendMail), 3)
  assert.deepEqual((await statuses()).toSorted(), ['delivered', 'delivered', 'sent'])
  const bodyOf = (path: string) => JSON.parse(receiver.received.find(each => each.path === path)!.body)
  const { text, ...rest } = bodyOf('/chat')
  assert.deepEqual(rest, {})
  assert.match(text, /^WARNING: Blocks of tenant x are 9\.\nScope: tenant:x\nRecipient domains: a\.example \(9\)\n/)
  const page = bodyOf('/pd/v2/enqueue')
  assert.deepEqual(
    [page.routing_key, page.event_action, page.dedup_key, page.payload.severity, page.payload.source],
    ['ROUTINGKEY0123', 'trigger', alertId, 'warning', 'tenant:x'],
  )
  assert.equal(page.payload.summary, 'Blocks of tenant x are 9.')
  assert.equal(page.payload.custom_details.data.value, 9)
  assert.equal(mails.length, 1)
  assert.deepEqual(
    [mails[0]!.to, mails[0]!.subject],
    ['oncall@example.com', '[warning] Sluice: Blocks over the limit of a rule'],
  )
})

test('a chat text calls nobody by accident', async t => {
  const { account, box, contact, alert, tell } = await aToldAccount()
  const receiver = await aReceiver(t)
  await contact({ channel: 'chat', target: receiver.url })
  await box.app.world.db.transact(system('test'), async tx =>
    raise(tx, { kind: 'x', severity: 'warning', title: 'From "<!channel> & co"@a.example', accountId: account.id }),
  )
  await alert('info')
  await tell()
  assert.match(JSON.parse(receiver.received[0]!.body).text, /From "&lt;!channel&gt; &amp; co"@a\.example/)
})

test('targets are sealed in their rows, also those of earlier versions, and shown as before', async t => {
  const { account, box, contact, contacts, alert, tell } = await aToldAccount()
  const receiver = await aReceiver(t)
  const targets = ['ROUTINGKEY-CANARY', `${receiver.url}/canary`, 'canary@example.com']
  await contact({ channel: 'paging', target: targets[0], min_severity: 'critical' })
  const { id } = await contact({ channel: 'chat', target: targets[1] })
  await contact({ channel: 'email', target: targets[2], min_severity: 'critical' })
  const { db } = box.app.world
  const rows = () => db.many(sql`select * from alert_contacts where account_id = ${account.id}`)
  const isSealed = async () => !/canary/i.test(JSON.stringify(await rows()))
  const shown = async () => (await contacts()).map(each => each.target).toSorted()
  assert.ok(await isSealed())
  assert.deepEqual(await shown(), targets.toSorted())

  await db.transact(system('test'), tx =>
    tx.run(sql`update alert_contacts set target = ${targets[1]}, sealed_target = null where id = ${id}`),
  )
  assert.deepEqual(await shown(), targets.toSorted(), 'in clear from before')
  assert.equal(await sealClearTargets(box.app.world, new AbortController().signal), 1)
  assert.ok(await isSealed())
  assert.deepEqual(await shown(), targets.toSorted())
  await alert()
  await tell()
  assert.equal(receiver.received.at(-1)!.path, '/canary')
})

test('an account may have 100 contacts, and a race allows none beyond', async () => {
  const { account } = await aToldAccount()
  const create = () => account.api.post('/v1/alert-contacts', { channel: 'email', target: 'a@example.com' })
  for (let n = 0; n < 96; n++) await create()
  const replies = await Promise.all(Array.from({ length: 10 }, create))
  assert.deepEqual(replies.map(reply => reply.status).toSorted(), [201, 201, 201, 201, 409, 409, 409, 409, 409, 409])
})

test('names in a mail are quoted, clipped and no links', () => {
  assert.equal(quoted('a.example'), '"a[.]example"')
  assert.equal(quoted('"click here http://evil.example/?a=b"@x'), '"clickherehttpevil[.]exampleab[at]x"')
  assert.equal(quoted('evil\uff0eexample\u3002com'), '"evil[.]examplecom"')
  assert.equal(quoted('a\u202eb\r\nc\u0000\u200bd<b>&'), '"abcdb"')
  assert.equal(quoted('x'.repeat(500)).length, 64 + 3)
  assert.equal(quoted('münchen.de'), '"münchen[.]de"')
})

test('a contact hears of its severity and above, warning unless said otherwise', async t => {
  const { alert, contact, tell } = await aToldAccount()
  const receiver = await aReceiver(t)
  await contact({ channel: 'chat', target: `${receiver.url}/default` })
  await contact({ channel: 'chat', target: `${receiver.url}/info`, min_severity: 'info' })
  await contact({ channel: 'chat', target: `${receiver.url}/critical`, min_severity: 'critical' })
  for (const severity of ['info', 'warning', 'critical'] as const) await alert(severity)
  await tell()
  const heard = receiver.received.map(({ path, body }) => `${path} ${/INFO|WARNING|CRITICAL/.exec(body)![0]}`)
  assert.deepEqual(heard.toSorted(), [
    '/critical CRITICAL',
    '/default CRITICAL',
    '/default WARNING',
    '/info CRITICAL',
    '/info INFO',
    '/info WARNING',
  ])
})

test('a failing contact is tried again with growing delays, then given up, and says why', async t => {
  const { box, alert, contact, contacts, tell, statuses } = await aToldAccount()
  const receiver = await aReceiver(t)
  receiver.answer = 503
  await contact({ channel: 'webhook', target: receiver.url })
  await alert()
  assert.equal(await tell(), 1)
  assert.equal((await contacts())[0]!.last_error, 'Answered 503.')
  assert.equal(await tell(), 0, 'not before its time')
  for (const seconds of [10, 60, 300, 1800, 7200]) {
    // Each delay is ±10 %.
    box.clock.advance((seconds * 0.9 - 1) * 1000)
    assert.equal(await tell(), 0, `${seconds} s`)
    box.clock.advance((seconds * 0.2 + 1) * 1000)
    assert.equal(await tell(), 1, `${seconds} s`)
  }
  assert.deepEqual(await statuses(), ['pending'])
  box.clock.advance(21_600_000 * 1.1)
  assert.equal(await tell(), 1)
  assert.deepEqual(await statuses(), ['dead'])
  box.clock.advance(86_400_000)
  assert.equal(await tell(), 0)
  assert.deepEqual(
    receiver.received.map(each => each.headers['x-service-delivery-attempt']),
    ['1', '2', '3', '4', '5', '6', '7'],
  )
  // Each try is signed afresh.
  assert.equal(new Set(receiver.received.map(each => each.headers['x-service-signature'])).size, 7)
})

test('a contact that recovers gets what it missed', async t => {
  const { box, alert, contact, tell, statuses } = await aToldAccount()
  const receiver = await aReceiver(t)
  receiver.answer = 500
  await contact({ channel: 'chat', target: receiver.url })
  await alert()
  await tell()
  receiver.answer = 204
  box.clock.advance(11_000)
  await tell()
  assert.deepEqual(await statuses(), ['delivered'])
})

test('several workers tell each contact once, and the lease of a dead one gives its work back', async t => {
  const { box, alert, contact, statuses } = await aToldAccount()
  const receiver = await aReceiver(t)
  await contact({ channel: 'chat', target: receiver.url })
  for (let n = 0; n < 10; n++) await alert()
  const { world } = box.app
  await Promise.all([1, 2, 3, 4].map(() => tellDue(world, noMail)))
  assert.equal(receiver.received.length, 10)
  await alert()
  await world.db.transact(system('test'), tx =>
    tx.run(sql`
      update alert_notifications set lease_token = gen_random_uuid(), due_at = ${new Date(tx.now.getTime() + 30_000)}
      where status = 'pending'`),
  )
  assert.equal(await tellDue(world, noMail), 0)
  box.clock.advance(31_000)
  assert.equal(await tellDue(world, noMail), 1)
  assert.deepEqual(new Set(await statuses()), new Set(['delivered']))
})

test('a contact that does not answer delays no other', async t => {
  const quietBox = await aBox({ until: t, environment: { ROLES: 'api', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } })
  const { alert, contact, box } = await aToldAccount(quietBox)
  const [slow, fast] = [await aReceiver(t), await aReceiver(t)]
  slow.answer = 0
  await contact({ channel: 'chat', target: slow.url })
  await contact({ channel: 'chat', target: fast.url })
  for (let n = 0; n < 5; n++) await alert()
  const ways = waysOf(box.app.world, noMail)
  t.after(() => Promise.all([ways.http.close(), ways.paging.close()]))
  const worker = notificationWorker({ ...box.app.world, metrics: createMetrics() }, ways)
  assert.equal(await worker.takeNext(), 2)
  await eventually('all five', async () => {
    await worker.takeNext()
    return fast.received.length === 5 && slow.received.length === 1
  })
  await alert()
  await eventually('the sixth', async () => {
    await worker.takeNext()
    return fast.received.length === 6
  })
  assert.equal(slow.received.length, 1)
  slow.close()
  await worker.drain(5_000)
})

/** On a box of its own, because a worker looks after everybody: contacts that hang, and a worker that is stopped. */
async function manyContacts(t: TestContext) {
  const box = await aBox({ environment: { ROLES: 'api', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } })
  const { world } = box.app
  const [slow, fast] = [await aReceiver(t), await aReceiver(t)]
  slow.answer = 0
  const ways = waysOf(world, noMail)
  const worker = notificationWorker({ ...world, metrics: createMetrics() }, ways)
  t.after(async () => {
    slow.close()
    await worker.drain(5_000)
    await Promise.all([ways.http.close(), ways.paging.close()])
  })
  return {
    world,
    slow,
    fast,
    run: () => worker.takeNext(),
    account: async (contacts: number, receiver: Receiver) => {
      const told = await aToldAccount(box)
      for (let n = 0; n < contacts; n++) await told.contact({ channel: 'chat', target: `${receiver.url}/${n}` })
      return told
    },
    /** As if the last try of each had failed. */
    failed: ({ account }: Told) =>
      world.db.transact(system('test'), tx =>
        tx.run(sql`
          update alert_contacts set last_delivered_at = ${new Date(tx.now.getTime() - 1)}, last_failed_at = ${tx.now}
          where account_id = ${account.id}`),
      ),
  }
}

test('an account with many contacts that hang takes ten slots, and another account is told at once', async t => {
  const { slow, fast, run, account } = await manyContacts(t)
  const [busy, other] = [await account(60, slow), await account(1, fast)]
  await busy.alert()
  assert.equal(await run(), 10)
  await eventually('they hang', async () => slow.received.length === 10)
  assert.equal(await run(), 0, 'no more in the next round')
  await other.alert()
  assert.equal(await run(), 1)
  await eventually('the other is told', async () => fast.received.length === 1)
})

test('an account with more contacts than slots is told in rounds, each slot being taken again at once', async t => {
  const { world, fast, run, account } = await manyContacts(t)
  const { alert } = await account(25, fast)
  await alert()
  let isWoken = true
  t.after(world.wakeups.on('alerts', () => (isWoken = true)))
  await eventually('all are told', async () => {
    // As the worker does: until there is nothing to begin with, and again when it is woken.
    if (isWoken) isWoken = false
    else return fast.received.length === 25
    for (let begun = await run(); begun > 0; begun = await run()) assert.ok(begun <= 10, `${begun} at once`)
    return false
  })
})

test('contacts whose last try failed come after the others and take half of the slots', async t => {
  const { slow, fast, run, account, failed } = await manyContacts(t)
  const failing: Told[] = []
  for (let n = 0; n < 4; n++) failing.push(await account(10, slow))
  for (const each of failing) await failed(each)
  for (const each of failing) await each.alert()
  const fine: Told[] = []
  for (let n = 0; n < 3; n++) fine.push(await account(9, fast))
  for (const each of fine) await each.alert()

  assert.equal(await run(), 50, '27 that did not fail, and then the rest')
  await eventually('those that did not fail are told', async () => fast.received.length === 27)
  await eventually('the others hang', async () => slow.received.length === 23)
  // A slot is free once the result is recorded, which is after the receiver has the request.
  for (const { statuses } of fine) {
    await eventually('it is recorded', async () => (await statuses()).every(status => status === 'delivered'))
  }
  let more = 0
  await eventually('half of the slots are taken', async () => (more += await run()) >= 2)
  assert.equal(more, 2, 'half of the slots')
  assert.equal(await run(), 0)
})

test('a contact that fails once in a round is left for the next one', async t => {
  const { alert, contact, tell, statuses } = await aToldAccount()
  const receiver = await aReceiver(t)
  receiver.answer = 503
  await contact({ channel: 'chat', target: receiver.url })
  for (let n = 0; n < 3; n++) await alert()
  assert.equal(await tell(), 1)
  receiver.answer = 200
  assert.equal(await tell(), 2)
  assert.deepEqual((await statuses()).toSorted(), ['delivered', 'delivered', 'pending'])
})

test('a thousand alerts wait for a contact at the most, the newest; of what is given up it says why', async () => {
  const { account, box, alert, contact } = await aToldAccount()
  const { world } = box.app
  const { id } = await contact({ channel: 'chat', target: 'https://chat.example/hook' })
  const early = [await alert(), await alert()]
  box.clock.advance(1_000)
  const late = await world.db.transact(system('test'), async tx =>
    Array.from({ length: 1_003 }, () =>
      raise(tx, {
        kind: 'rule',
        severity: 'warning',
        title: 'Blocks.',
        accountId: account.id,
        tenantId: account.tenant.id,
        scope: 'tenant:x',
        facts: {},
      }),
    ),
  )
  await readTailOnce(world, tail)
  while ((await advanceTail(world, tail)) > 0);

  const rows = await world.db.many<{ alert_id: string; status: string; last_error: string | null }>(sql`
    select alert_id, status, last_error from alert_notifications where contact_id = ${id} order by alert_id`)
  const of = (status: string) => rows.filter(row => row.status === status)
  assert.deepEqual(
    of('pending').map(row => row.alert_id),
    late.slice(3).toSorted(),
  )
  assert.deepEqual(
    of('dead').map(row => row.alert_id),
    early.toSorted(),
  )
  assert.match(of('dead')[0]!.last_error!, /^More than 1000 alerts waited/)
  assert.equal(rows.length, 1_002)
  await account.api.delete(`/v1/alert-contacts/${id}`)
})

test('what nobody found the time to tell for a day is given up; what was tried is tried again', async t => {
  const receiver = await aReceiver(t)
  const box = await aBox({ until: t, environment: { ROLES: 'api', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } })
  const { alert, contact, tell, statuses } = await aToldAccount(box)
  receiver.answer = 500
  await contact({ channel: 'chat', target: receiver.url })
  await alert()
  await tell()
  await alert()
  const forget = () => forgetOldAlerts(box.app.world, new AbortController().signal)
  box.clock.advance(23 * 3_600_000)
  await forget()
  assert.deepEqual(await statuses(), ['pending', 'pending'])
  box.clock.advance(2 * 3_600_000)
  await forget()
  assert.deepEqual(await statuses(), ['pending', 'dead'])
})

test('a removed contact is not told any more', async t => {
  const { account, alert, contact, contacts, tell } = await aToldAccount()
  const receiver = await aReceiver(t)
  const { id } = await contact({ channel: 'chat', target: receiver.url })
  await alert()
  assert.equal((await account.api.delete(`/v1/alert-contacts/${id}`)).status, 204)
  assert.equal(await tell(), 0)
  assert.deepEqual(await contacts(), [])
  assert.equal((await account.api.delete(`/v1/alert-contacts/${id}`)).status, 404)
})

test('alerts go after the account’s time for what happened; a legal hold and an untold contact keep them', async t => {
  const receiver = await aReceiver(t)
  const told = await aToldAccount(
    await aBox({ until: t, environment: { ROLES: 'api', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } }),
  )
  const { account, box } = told
  const listed = async (): Promise<string[]> => {
    const { body } = await account.api.get('/v1/alerts')
    return body.alerts.map((each: { id: string }) => each.id)
  }
  const forget = () => forgetOldAlerts(box.app.world, new AbortController().signal)
  await account.api.patch('/v1/account', { metadata_retention_days: 30, legal_hold: true })
  const old = await told.alert()
  await told.contact({ channel: 'chat', target: receiver.url })
  const untold = await told.alert()
  box.clock.advance(31 * 86_400_000)
  const young = await told.alert()

  await forget()
  assert.deepEqual(await listed(), [young, untold, old])
  await account.api.patch('/v1/account', { legal_hold: false })
  await forget()
  assert.deepEqual(await listed(), [young, untold])
})

test('what a contact was told is forgotten after 30 days, but nothing of an account under legal hold', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const accounts = [await aToldAccount(box), await aToldAccount(box)] as const
  const [held, other] = accounts
  for (const told of accounts) {
    await told.contact({ channel: 'chat', target: 'https://chat.example/hook' })
    await told.alert()
  }
  await box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`update alert_notifications set status = 'delivered'`),
  )
  const left = async ({ account }: typeof held): Promise<number> =>
    (
      await box.app.world.db.one<{ total: number }>(sql`
        select count(*) as total from alert_notifications n join alert_contacts c on c.id = n.contact_id
        where c.account_id = ${account.id}`)
    ).total
  const forget = () => forgetOldAlerts(box.app.world, new AbortController().signal)
  await held.account.api.patch('/v1/account', { legal_hold: true })

  box.clock.advance(29 * 86_400_000)
  await forget()
  assert.deepEqual([await left(held), await left(other)], [1, 1])
  box.clock.advance(2 * 86_400_000)
  await forget()
  assert.deepEqual([await left(held), await left(other)], [1, 0])
  await held.account.api.patch('/v1/account', { legal_hold: false })
  await forget()
  assert.equal(await left(held), 0)
})
