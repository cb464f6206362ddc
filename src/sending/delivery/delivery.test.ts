// Delivery end to end: from an accepted request to the receiver, over real sockets.
// Waits more than it works.
import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { aServer, type Session } from '../../smtp/client/fake-smtp.fixture.ts'
import { readReturnPath } from './return-path.ts'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, unique, type TestAccount } from '../../../test/support/factories.ts'
import { aSink, type TestSink } from '../../../test/support/sink.ts'

const sinks: TestSink[] = []
after(() => Promise.all(sinks.map(sink => sink.close())))

interface Sender {
  account: TestAccount & { domain: string }
  sink: TestSink
  box: Box
}

/** For tests that leave its clock alone and nothing in its queue. */
let shared: Promise<Omit<Sender, 'account'>> | null = null

/** A box whose whole mail goes to a sink. */
async function aRoutedBox(until?: TestContext): Promise<Omit<Sender, 'account'>> {
  const sink = await aSink()
  sinks.push(sink)
  const environment = { SMTP_ROUTES: `*=127.0.0.1:${sink.port}` }
  return { sink, box: await aBox({ environment, until }) }
}

/** An account with a verified domain. */
async function aSender(routed: ReturnType<typeof aRoutedBox>): Promise<Sender> {
  const { sink, box } = await routed
  sink.received = []
  sink.answer = () => null
  const account = await anAccount({ box })
  const domain = `${unique('acme')}.sluice.test`
  const created = await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: domain })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return { account: { ...account, domain }, sink, box }
}

const aSharedSender = (): Promise<Sender> => aSender((shared ??= aRoutedBox()))

async function send(account: Sender['account'], fields: object = {}): Promise<string> {
  const { status, body } = await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: `Acme <hello@${account.domain}>`,
    to: ['someone@example.com'],
    subject: 'Hello',
    text: 'Hello there.',
    ...fields,
  })
  assert.equal(status, 202, JSON.stringify(body))
  return body.message_id
}

const countsOf = async (account: TestAccount, id: string): Promise<Record<string, number>> =>
  (await account.api.get(`/v1/messages/${id}`)).body.counts

const becomes = (account: TestAccount, id: string, counts: Record<string, number>) =>
  eventually(JSON.stringify(counts), async () => {
    const found = await countsOf(account, id)
    return Object.entries(counts).every(([status, count]) => found[status] === count)
  })

test('an accepted message is delivered once, signed, with a return path of ours', async () => {
  const { account, sink } = await aSharedSender()
  const id = await send(account)
  await becomes(account, id, { delivered: 1 })

  assert.equal(sink.received.length, 1)
  const [mail] = sink.received
  assert.deepEqual(mail!.recipients, ['someone@example.com'])
  assert.match(mail!.mailFrom, /^b-[a-z2-7]{32}-[a-z2-7]{16}@bounce\.sluice\.test$/)
  const signature = `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${account.domain};`
  assert.ok(mail!.source.startsWith(signature), mail!.source)
  const { body } = await account.api.get(`/v1/events?message_id=${id}&type=delivered`)
  assert.equal(body.events[0].data.smtp_code, 250)
  assert.equal(body.events[0].data.attempt, 1)
})

test('each recipient has a transaction and a return path of its own, over connections that are kept', async () => {
  const { account, sink } = await aSharedSender()
  const to = Array.from({ length: 20 }, (_, n) => `u${n}@one.example`)
  const id = await send(account, { to, bcc: ['c@two.example'] })
  await becomes(account, id, { delivered: 21 })
  assert.ok(sink.received.every(mail => mail.recipients.length === 1))
  assert.equal(new Set(sink.received.map(mail => mail.mailFrom)).size, 21)
  assert.equal(new Set(sink.received.map(mail => /^DKIM-Signature: [^]*?\r\n(?! )/.exec(mail.source)![0])).size, 1)
})

test('more than twenty at one destination share transactions, and each is known by its return path', async () => {
  const { account, sink, box } = await aSharedSender()
  const to = Array.from({ length: 130 }, (_, n) => `u${n}@one.example`)
  const id = await send(account, { to: ['solo@two.example', ...to] })
  await becomes(account, id, { delivered: 131 })
  const shared = sink.received.filter(mail => mail.recipients.length > 1)
  assert.ok(shared.length >= 2 && shared.every(mail => mail.recipients.length <= 100))
  for (const { mailFrom, recipients } of sink.received) {
    const { n, envelope } = readReturnPath(box.app.world.secrets, mailFrom.split('@')[0]!, box.clock.now())!
    const rows = await box.app.world.db.many<{ recipient: string }>(
      envelope === null
        ? sql`select recipient from deliveries where message_id = ${id} and n = ${n} limit 200`
        : sql`select recipient from deliveries where message_id = ${id} and envelope = ${envelope} limit 200`,
    )
    assert.deepEqual(rows.map(row => row.recipient).toSorted(), recipients.toSorted())
  }
})

test('a refusal of the content for an unknown user bounces nobody who shared its transaction', async () => {
  for (const verb of ['DATA', 'CONTENT']) {
    const { account, sink } = await aSharedSender()
    const asked: number[] = []
    sink.answer = (said, _, recipients) => {
      if (said !== verb) return null
      asked.push(recipients.length)
      return recipients.includes('u7@one.example') ? '550 5.1.1 <u7@one.example>: User unknown' : null
    }
    const to = Array.from({ length: 25 }, (_, n) => `u${n}@one.example`)
    const id = await send(account, { to })
    await becomes(account, id, { delivered: 24, bounced: 1 })
    assert.deepEqual(asked, [25, ...Array(25).fill(1)])
    assert.deepEqual(sink.received.flatMap(mail => mail.recipients).toSorted(), to.toSpliced(7, 1).toSorted())
    const { body } = await account.api.get('/v1/suppressions')
    assert.deepEqual(
      body.entries.map((entry: { address: string }) => entry.address),
      ['u7@one.example'],
    )
  }
})

test('a refusal of the content for what it is refuses it for all that share the transaction, at once', async () => {
  const { account, sink } = await aSharedSender()
  let asked = 0
  sink.answer = verb => (verb === 'CONTENT' && ++asked > 0 ? '550 5.7.1 This looks like spam' : null)
  const id = await send(account, { to: Array.from({ length: 25 }, (_, n) => `u${n}@one.example`) })
  await becomes(account, id, { blocked: 25 })
  assert.equal(asked, 1)
})

test('recipients of a large message share its bytes and its signature', async () => {
  const { account, sink } = await aSharedSender()
  const to = Array.from({ length: 8 }, (_, n) => `u${n}@one.example`)
  const id = await send(account, { to, text: 'A line of forty characters, all the same.\n'.repeat(10_000) })
  await becomes(account, id, { delivered: 8 })
  assert.equal(sink.received.length, 8)
  assert.equal(new Set(sink.received.map(mail => mail.source)).size, 1)
})

test('each recipient gets its own verdict: delivered, bounced and suppressed, blocked, deferred and tried again', async t => {
  const { account, sink, box } = await aSender(aRoutedBox(t))
  const refusals: Record<string, string> = {
    gone: '550 5.1.1 No such user',
    full: '552 5.2.2 Mailbox full',
    spam: '550 5.7.1 Blocked by policy',
    later: '451 4.7.1 Greylisted, try again later',
    many: '452 4.5.3 Too many recipients',
  }
  sink.answer = (verb, line) => (verb === 'RCPT' ? (refusals[/<(\w+)@/.exec(line)?.[1] ?? ''] ?? null) : null)
  const id = await send(account, { to: ['fine', ...Object.keys(refusals)].map(local => `${local}@example.com`) })

  await becomes(account, id, { delivered: 1, bounced: 2, blocked: 1, deferred: 2 })
  const { body } = await account.api.get(`/v1/messages/${id}`)
  const of = (local: string) =>
    body.deliveries.find((each: { recipient: string }) => each.recipient.startsWith(`${local}@`))
  assert.deepEqual([of('gone').bounce_type, of('full').bounce_type], ['hard', 'soft'])
  assert.equal(of('gone').enhanced_code, '5.1.1')
  assert.ok(Date.parse(of('later').next_attempt_at) > box.clock.now().getTime() + 50_000)
  const bounced = await account.api.get('/v1/events?type=bounced')
  assert.ok(bounced.body.events.every((event: { data: { rule: string } }) => event.data.rule.length > 0))
  assert.deepEqual(
    (await account.api.get('/v1/suppressions')).body.entries.map((entry: { address: string }) => entry.address),
    ['gone@example.com'],
  )

  sink.answer = () => null
  box.clock.advance(70_000)
  await becomes(account, id, { delivered: 3, bounced: 2, blocked: 1 })
})

test('a refusal before any recipient was named blocks the mail and suppresses nobody', async () => {
  const { account, sink } = await aSharedSender()
  for (const reply of ['550 5.1.0 Address rejected', '550 Requested action not taken', '553 5.1.0 Verify failed']) {
    sink.answer = verb => (verb === 'MAIL' ? reply : null)
    await becomes(account, await send(account), { blocked: 1 })
  }
  assert.deepEqual((await account.api.get('/v1/suppressions')).body.entries, [])
})

test('a recipient in secret whose address is not ASCII asks nothing of the others', async t => {
  const { account, sink } = await aSender(aRoutedBox(t))
  const asked: string[] = []
  sink.answer = (verb, line) => {
    if (verb === 'EHLO') return '250-sink.test\r\n250 PIPELINING'
    if (verb === 'MAIL') asked.push(line)
    return null
  }
  const id = await send(account, { to: ['plain@one.example'], bcc: ['jürgen@two.example'] })
  await becomes(account, id, { delivered: 1, bounced: 1 })
  assert.equal(asked.length, 1)
  assert.doesNotMatch(asked[0]!, /SMTPUTF8/)
})

test('a receiver that stays away is tried on schedule and expires after 72 hours', async t => {
  const { account, sink, box } = await aSender(aRoutedBox(t))
  sink.answer = verb => (verb === 'MAIL' ? '451 4.3.2 Not now' : null)
  const id = await send(account)
  const attempt = async () => (await account.api.get(`/v1/messages/${id}`)).body.deliveries[0]
  await becomes(account, id, { deferred: 1 })
  for (const [attempts, minutes] of [
    [2, 1],
    [3, 2],
    [4, 5],
    [5, 10],
  ] as const) {
    box.clock.advance(minutes * 66_000 + 1000)
    await eventually(`attempt ${attempts}`, async () => (await attempt()).attempts === attempts)
    await becomes(account, id, { deferred: 1 })
  }
  await box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`update queue set accepted_at = accepted_at - interval '72 hours' where message_id = ${id}`),
  )
  box.clock.advance(22 * 60_000)
  await becomes(account, id, { expired: 1 })
})

test('days in which nothing was tried do not count: what is deferred after them is tried again', async t => {
  const { account, sink, box } = await aSender(aRoutedBox(t))
  sink.answer = verb => (verb === 'MAIL' ? '451 4.7.1 Greylisted' : null)
  const id = await send(account)
  await becomes(account, id, { deferred: 1 })
  box.clock.advance(5 * 24 * 3_600_000)
  await eventually('the second attempt', async () => {
    const { body } = await account.api.get(`/v1/messages/${id}`)
    return body.deliveries[0].attempts === 2 && body.deliveries[0].status === 'deferred'
  })
  sink.answer = () => null
  box.clock.advance(3 * 60_000)
  await becomes(account, id, { delivered: 1 })
})

const GREETING = '220 fake.test ESMTP'

test('mail that waits for a greeting does not leave in clear text once the account requires TLS', async t => {
  const first = Promise.withResolvers<() => void>()
  const connect = (_line: string, { id, socket }: Session): string | null => {
    if (id > 0) return GREETING
    first.resolve(() => socket.write(`${GREETING}\r\n`))
    return null
  }
  const server = await aServer(t, { answers: { connect } })
  const box = await aBox({ until: t, environment: { SMTP_ROUTES: `*=127.0.0.1:${server.port}` } })
  const account = { ...(await anAccount({ box })), domain: 'acme.sluice.test' }
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: account.domain })
  const id = await send(account)
  const greet = await first.promise

  assert.equal((await account.api.patch('/v1/account', { require_outbound_tls: true })).status, 200)
  greet()

  await becomes(account, id, { deferred: 1 })
  assert.deepEqual(server.messages, [])
})

test("a tenant's backlog does not delay another tenant's single mail", async t => {
  const { account, sink, box } = await aSender(aRoutedBox(t))
  const other = (await account.api.post('/v1/tenants', { external_id: 'other', name: 'Other' })).body
  await account.api.post(`/v1/tenants/${other.id}/domains`, { name: 'other.sluice.test' })
  for (let n = 0; n < 4; n++) {
    await send(account, { to: Array.from({ length: 1000 }, (_, index) => `u${n}-${index}@d${index}.example`) })
  }
  // However long ago the backlog began: what counts is how much of it has been served.
  box.clock.advance(20_000)
  const id = await send(account, { tenant_id: other.id, from: 'x@other.sluice.test', to: ['lonely@alone.example'] })

  await becomes(account, id, { delivered: 1 })

  assert.ok(sink.received.length < 3_000, `${sink.received.length} of the backlog went first`)
})

test('a paused tenant is not attempted: the mail is held, also when it was queued before', async t => {
  const { account, sink, box } = await aSender(aRoutedBox(t))
  sink.answer = verb => (verb === 'MAIL' ? '451 4.3.2 Not now' : null)
  const id = await send(account)
  await becomes(account, id, { deferred: 1 })
  await box.app.world.db.transact(
    { type: 'system', id: null, name: 'test', ip: null, requestId: null, action: null },
    tx =>
      tx.run(sql`insert into suspensions (id, account_id, scope_type, scope_value, queue_action, source, created_at)
      values (gen_random_uuid(), ${account.id}, 'tenant', ${account.tenant.id}, 'hold', 'api', ${tx.now})`),
  )
  sink.answer = () => null
  box.clock.advance(70_000)

  await becomes(account, id, { held: 1 })
  assert.equal(sink.received.length, 0)
  const { body } = await account.api.post('/v1/messages', {
    tenant_id: account.tenant.id,
    from: `a@${account.domain}`,
    to: ['x@example.com'],
    text: 'x',
  })
  assert.deepEqual([body.queued, body.held, body.hold_scope], [0, 1, `tenant:${account.tenant.id}`])
})
