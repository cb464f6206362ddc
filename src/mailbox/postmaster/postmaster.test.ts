// postmaster@ and abuse@ of every domain whose mail comes here: an inbox of that name, else the operator's address, else an
// inbox of the operator's own.
import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { aDnsServer } from '../../platform/net/dns.fixture.ts'
import { TestClient } from '../../smtp/server/client.fixture.ts'
import { aBox, type Box } from '../../../test/support/box.ts'
import { atFileEnd, onePerFile } from '../../../test/support/file-end.ts'
import { anAccount, anInbox, anInboundDomain, eventually, unique } from '../../../test/support/factories.ts'
import { bestOfThree, longestTurn } from '../../../test/support/main-thread.ts'
import { operatorAccounts } from '../../operator-account.ts'
import { Gate } from '../../sending/messages/gate.ts'
import { Arrivals } from '../inbound/arrivals.ts'
import { Postmaster } from './take.ts'
import { aSink, type ReceivedMail } from '../../../test/support/sink.ts'

const dns = await aDnsServer()
after(() => dns.close())

async function deliver(
  t: TestContext,
  { app }: Box,
  to: string,
  lines: readonly string[],
  ip?: string,
): Promise<string> {
  const client = await TestClient.open(t, app.ports.mx!, ip)
  await client.hello()
  await client.say('MAIL FROM:<ann@example.com>')
  const reply = await client.say(`RCPT TO:<${to}>`)
  if (!reply.startsWith('250')) return reply
  await client.say('DATA')
  return client.say(`${lines.join('\r\n')}\r\n.`)
}

/** It keeps what no inbox takes. */
const theKeeper = onePerFile(() => aBox({ environment: { DNS_SERVERS: dns.address } }))

/** It forwards. */
const theForwarder = onePerFile(async () => {
  const sink = await aSink()
  atFileEnd(sink.close)
  const environment = {
    DNS_SERVERS: dns.address,
    POSTMASTER_ADDRESS: 'people@example.net',
    SMTP_ROUTES: `*=127.0.0.1:${sink.port}`,
  }
  const forwarded = (subject: string): ReceivedMail[] => sink.received.filter(({ source }) => source.includes(subject))
  return { box: await aBox({ environment }), forwarded }
})

const mailOf = (subject: string, ...more: string[]): string[] => [
  'From: Ann <ann@example.com>',
  `Subject: ${subject}`,
  ...more,
  '',
  'Your servers knock at ours all night.',
]

/** Nothing in it is to be read. */
const aFileOf = (subject: string, bytes: number): string[] => [
  ...mailOf(subject, 'Content-Type: application/octet-stream'),
  ...Array<string>(Math.ceil(bytes / 992)).fill('x'.repeat(990)),
]

interface Kept {
  id: string
  subject: string
  text?: string
}

async function keptOf({ operator }: Box, subject: string): Promise<Kept | undefined> {
  const { status, body } = await operator.get('/admin/v1/postmaster')
  assert.equal(status, 200)
  return (body.messages as Kept[]).find(message => message.subject === subject)
}

test('without an address to forward to it is kept, and the operator reads it', async t => {
  const box = await theKeeper()
  assert.deepEqual((await box.operator.get('/admin/v1/postmaster')).body, { messages: [], next_cursor: null })
  const account = await anAccount({ box })
  const domainId = await anInboundDomain(account.api, account.tenant.id)
  const { body: listed } = await account.api.get(`/v1/domains?tenant_id=${account.tenant.id}`)
  const { name } = (listed.domains as { id: string; name: string }[]).find(({ id }) => id === domainId)!
  const subjects = ['postmaster', `Abuse@${name}`, `postmaster@${name}`].map(to => ({ to, subject: unique('noise') }))
  // At once, also the one inbox that is made for them.
  const replies = await Promise.all(subjects.map(({ to, subject }) => deliver(t, box, to, mailOf(subject))))
  for (const reply of replies) assert.match(reply, /^250/)
  for (const { subject } of subjects) {
    const { id } = await eventually('it is kept', () => keptOf(box, subject))
    const { body } = await box.operator.get(`/admin/v1/postmaster/${id}`)
    assert.match(body.text, /knock at ours/)
  }
  const first = await box.operator.get('/admin/v1/postmaster?limit=1')
  assert.equal(first.body.messages.length, 1)
  const rest = await box.operator.get(`/admin/v1/postmaster?cursor=${first.body.next_cursor}`)
  assert.equal(rest.body.messages.length, 2)
  assert.equal((await box.operator.get(`/admin/v1/postmaster/${account.id}`)).status, 404)
  assert.equal((await account.api.get('/admin/v1/postmaster')).status, 401)
})

test('a large mail to postmaster and to an inbox reaches both', async t => {
  const box = await theKeeper()
  const account = await anAccount({ box })
  const inboxId = await anInbox(account)
  const { address } = (await account.api.get(`/v1/inboxes/${inboxId}`)).body
  const client = await TestClient.open(t, box.app.ports.mx!)
  const subject = unique('large')
  const send = async (...recipients: string[]): Promise<string> => {
    await client.say('MAIL FROM:<ann@example.com>')
    for (const to of recipients) assert.match(await client.say(`RCPT TO:<${to}>`), /^250/)
    await client.say('DATA')
    return client.say(`${aFileOf(subject, 12_000_000).join('\r\n')}\r\n.`)
  }
  await client.hello()
  assert.match(await send('postmaster', address), /^250/)
  await eventually('postmaster has it', () => keptOf(box, subject))
  const listed = () => account.api.get(`/v1/inboxes/${inboxId}/messages`)
  await eventually('the inbox has it', async () => (await listed()).body.messages[0]?.subject === subject)
})

test('an inbox of that name takes it, and nobody else does', async t => {
  const box = await theKeeper()
  const account = await anAccount({ box })
  const domainId = await anInboundDomain(account.api, account.tenant.id)
  const wanted = { domain_id: domainId, local_part: 'postmaster' }
  const { body: inbox } = await account.api.post(`/v1/tenants/${account.tenant.id}/inboxes`, wanted)
  const subject = unique('noise')
  assert.match(await deliver(t, box, inbox.address, mailOf(subject)), /^250/)
  await eventually('it is filed', async () => {
    const { body } = await account.api.get(`/v1/inboxes/${inbox.id}/messages`)
    return (body.messages as Kept[]).some(message => message.subject === subject)
  })
  assert.equal(await keptOf(box, subject), undefined)
})

test('with an address it is forwarded whole, once, and what comes back is kept', async t => {
  const { box, forwarded } = await theForwarder()
  const subject = unique('noise')
  // The second is a sender that missed our answer, and comes again from another of its hosts.
  for (const ip of ['127.0.0.1', '127.0.0.2'])
    assert.match(await deliver(t, box, 'abuse@mx.sluice.test', mailOf(subject), ip), /^250/)
  const received = await eventually('it is forwarded', () => forwarded(subject)[0])
  assert.deepEqual(received.recipients, ['people@example.net'])
  assert.match(received.source, new RegExp(`^Subject: Mail to abuse@mx.sluice.test: ${subject}`, 'm'))
  assert.match(received.source, /^Content-Type: message\/rfc822/m)
  assert.match(received.source, /^Return-Path: <ann@example.com>/m)
  assert.match(received.source, /^Your servers knock at ours all night\./m)
  assert.match(received.source, /^DKIM-Signature: /m)

  const mark = /^X-Sluice-Postmaster: .*$/m.exec(received.source)![0].trim()
  const back = unique('back')
  assert.match(await deliver(t, box, 'postmaster', mailOf(back, mark)), /^250/)
  await eventually('it is kept', () => keptOf(box, back))
  assert.equal(await keptOf(box, subject), undefined)
  assert.deepEqual([forwarded(subject).length, forwarded(back).length], [1, 0])
})

const ofSize = (subject: string, bytes: number): string[] => [
  ...mailOf(subject),
  ...Array<string>(Math.ceil(bytes / 78)).fill('x'.repeat(76)),
]

test('a mail of 24 MB is forwarded in slices of the main thread', async () => {
  const { box, forwarded } = await theForwarder()
  const { world } = box.app
  const arrivals = new Arrivals(world)
  const postmaster = new Postmaster(world, { gate: new Gate(world), arrivals, operator: operatorAccounts(world) })
  const take = (content: Buffer): Promise<void> => {
    const envelope = { mailFrom: 'ann@example.com', clientIp: '192.0.2.1', helo: 'x', to: ['postmaster'] }
    return postmaster.take({ content, headBytes: 0, ...envelope })
  }
  const subject = unique('large')
  const lines = ofSize(subject, 24_000_000)
  await take(Buffer.from(mailOf(unique('first')).join('\r\n')))
  let taken = 0
  // As a file in base64, and as it is.
  for (const last of ['é', 'x']) {
    const longestMs = await bestOfThree(60, () => {
      const content = Buffer.from([...lines, `${taken++} ${last}`].join('\r\n'))
      return longestTurn(() => take(content))
    })

    assert.ok(longestMs < 60, `the main thread was held for ${longestMs.toFixed(0)} ms`)
  }
  await eventually('all are forwarded', () => forwarded(subject).length === taken)
})

test('what is too large to forward is kept, and the address is told of it', async t => {
  const { box, forwarded } = await theForwarder()
  const subject = unique('too-large')
  assert.match(await deliver(t, box, 'postmaster', aFileOf(subject, 27_000_000)), /^250/)
  await eventually('it is kept', () => keptOf(box, subject))
  const told = await eventually('the address is told', () => forwarded(subject)[0])
  assert.match(told.source, new RegExp(`^Subject: Mail to postmaster: ${subject}`, 'm'))
  assert.match(told.source, /too large to be forwarded/)
})
