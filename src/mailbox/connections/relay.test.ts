// Mail of a connected inbox leaves through its provider: over real SMTP, with the token of the mailbox, in one transaction.
// Waits more than it works.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { theBox, type Box } from '../../../test/support/box.ts'
import { anAccount, anInbox, eventually, unique, type TestAccount } from '../../../test/support/factories.ts'
import { aFiledMessage } from '../../../test/support/mailbox.ts'
import { anOAuthProvider, type OAuthStandIn } from '../../../test/support/oauth.ts'
import { aSink, type TestSink } from '../../../test/support/sink.ts'
import { sql } from '../../platform/db/sql.ts'

const EHLO = '250-smtp.provider.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-AUTH PLAIN XOAUTH2\r\n250 SMTPUTF8'

let oauth: OAuthStandIn
let sink: TestSink
let box: Box
let account: TestAccount
/** What came behind AUTH XOAUTH2, decoded. */
let logins: string[] = []

before(async () => {
  oauth = await anOAuthProvider()
  sink = await aSink()
  const environment = { ...oauth.environment, GOOGLE_SMTP: `smtp://127.0.0.1:${sink.port}`, ROLES: 'api,worker' }
  box = await theBox({ environment })
  oauth.now = () => box.clock.now()
  account = await anAccount({ box })
})
after(async () => {
  await sink.close()
  await oauth.close()
})
beforeEach(() => {
  logins = []
  sink.received.length = 0
  answerWith(() => null)
})

/** The provider, but for what this says. */
function answerWith(own: TestSink['answer']): void {
  sink.answer = (verb, line, recipients) => {
    if (verb === 'AUTH') logins.push(Buffer.from(line.split(' ')[2]!, 'base64').toString())
    const answer = own(verb, line, recipients)
    if (answer) return answer
    return verb === 'EHLO' ? EHLO : verb === 'AUTH' ? '235 2.7.0 Accepted' : null
  }
}

interface Mailbox {
  inboxId: string
  email: string
}

async function aConnected(of: TestAccount = account): Promise<Mailbox> {
  const inboxId = await anInbox(of)
  const email = `${unique('ann')}@provider.example`
  await of.api.patch(`/v1/inboxes/${inboxId}`, { display_name: 'Ann Lee' })
  await connect({ inboxId, email }, of)
  return { inboxId, email }
}

async function connect({ inboxId, email }: Mailbox, of: TestAccount = account): Promise<void> {
  oauth.email = email
  const { body } = await of.api.post(`/v1/inboxes/${inboxId}/connect/google`)
  const { headers } = await box.client().get(`/v1/inboxes/connect/callback${await oauth.agree(body.auth_url)}`)
  assert.match(headers.get('location')!, /\?connected=google$/)
}

async function compose({ inboxId }: Mailbox, fields: object = {}, of: TestAccount = account) {
  const { status, body } = await of.api.post(`/v1/inboxes/${inboxId}/messages`, {
    to: ['bob@one.example'],
    subject: 'Offer',
    text: 'Hello.',
    ...fields,
  })
  assert.equal(status, 202, JSON.stringify(body))
  return body as { id: string; message_id: string; status: string; approval_id: string | null }
}

interface Delivery {
  recipient: string
  status: string
  attempts: number
  response: string | null
}

const deliveriesOf = async (messageId: string): Promise<Delivery[]> =>
  (await account.api.get(`/v1/messages/${messageId}`)).body.deliveries

const statusesOf = async (messageId: string): Promise<string[]> =>
  (await deliveriesOf(messageId)).map(({ status }) => status)

const untilAll = (messageId: string, status: string) =>
  eventually(`all are ${status}`, async () => (await statusesOf(messageId)).every(each => each === status))

const eventsOf = (messageId: string) =>
  box.app.world.db.many<{ type: string; recipient: string; data: Record<string, unknown> }>(
    sql`select type, recipient, data from events where message_id = ${messageId} and inbox_id is null order by id`,
  )

test('a mail leaves from the mailbox, unsigned, with its token, in one transaction for all its recipients', async () => {
  const mailbox = await aConnected()
  const local = (await account.api.get(`/v1/inboxes/${await anInbox(account)}`)).body.address
  const sent = await compose(mailbox, {
    to: ['bob@one.example', 'eve@two.example', local],
    bcc: ['secret@three.example'],
  })
  await untilAll(sent.message_id, 'delivered')
  assert.equal(sink.received.length, 1)
  const [mail] = sink.received
  assert.equal(mail!.mailFrom, mailbox.email)
  assert.deepEqual(
    mail!.recipients.toSorted(),
    ['bob@one.example', 'eve@two.example', local, 'secret@three.example'].toSorted(),
  )
  assert.ok(mail!.source.startsWith(`From: Ann Lee <${mailbox.email}>\r\n`), mail!.source)
  assert.ok(!/dkim-signature|secret@/i.test(mail!.source))
  assert.deepEqual(logins, [`user=${mailbox.email}\u0001auth=Bearer ${oauth.accessTokens.at(-1)}\u0001\u0001`])
  const message = (await account.api.get(`/v1/inbox-messages/${sent.id}`)).body
  assert.equal(message.from, `Ann Lee <${mailbox.email}>`)
  assert.ok(mail!.source.includes(`Message-ID: ${message.rfc_message_id}\r\n`))
  await eventually('the mailbox shows it', async () => {
    const { body } = await account.api.get(`/v1/inbox-messages/${sent.id}`)
    return body.status === 'delivered'
  })
})

test('a provider that refuses the content for one recipient gets the mail for the others, one by one', async () => {
  const mailbox = await aConnected()
  answerWith((verb, _, recipients) =>
    verb === 'CONTENT' && recipients.includes('gone@two.example') ? '550 5.1.1 No such user' : null,
  )
  const sent = await compose(mailbox, { to: ['bob@one.example', 'gone@two.example', 'eve@two.example'] })
  await eventually('each has its verdict', async () => {
    const statuses = await statusesOf(sent.message_id)
    return statuses.toSorted().join() === 'bounced,delivered,delivered'
  })
  assert.deepEqual(sink.received.map(mail => mail.recipients).toSorted(), [['bob@one.example'], ['eve@two.example']])
  const bounced = (await deliveriesOf(sent.message_id)).find(({ status }) => status === 'bounced')
  assert.equal(bounced!.recipient, 'gone@two.example')
})

test('a reply to all is sent to neither address of the inbox', async () => {
  const mailbox = await aConnected()
  const { body: inbox } = await account.api.get(`/v1/inboxes/${mailbox.inboxId}`)
  const original = await aFiledMessage(box, mailbox.inboxId, {
    from: 'Bob <bob@one.example>',
    to: [mailbox.email, inbox.address, 'eve@two.example'],
  })
  const { body } = await account.api.post(`/v1/inbox-messages/${original.id}/reply`, { text: 'Yes.', reply_all: true })
  await untilAll(body.message_id, 'delivered')
  assert.deepEqual(sink.received[0]!.recipients.toSorted(), ['bob@one.example', 'eve@two.example'])
})

test('a token that is refused is replaced and the mail sent at once; refused again, it waits', async () => {
  const mailbox = await aConnected()
  const good = new Set<string>()
  const stale = oauth.accessTokens.at(-1)!
  const isGood = (line: string): boolean => {
    const token = /Bearer ([\w-]*)/.exec(Buffer.from(line.split(' ')[2]!, 'base64').toString())![1]!
    return good.has(token) || (good.size === 0 && token !== stale)
  }
  const refuseBad = (verb: string, line: string): string | null => {
    if (verb === 'AUTH' && !isGood(line)) return `334 ${Buffer.from('{"status":"400"}').toString('base64')}`
    return verb === '' ? '535 5.7.8 Username and Password not accepted' : null
  }
  answerWith(refuseBad)
  const sent = await compose(mailbox)
  await untilAll(sent.message_id, 'delivered')
  assert.equal((await deliveriesOf(sent.message_id))[0]!.attempts, 1)
  assert.equal(logins.length, 2)
  sink.hangUp()
  good.add('none')
  const other = await compose(mailbox)
  await untilAll(other.message_id, 'deferred')
  const [delivery] = await deliveriesOf(other.message_id)
  assert.match(delivery!.response!, /refused our credentials: 535/)
  assert.equal(logins.length, 4)
  assert.notEqual((await account.api.get(`/v1/inboxes/${mailbox.inboxId}`)).body.connection.state, 'reconnect_required')
  answerWith(() => null)
  box.clock.advance(120_000)
  await untilAll(other.message_id, 'delivered')
})

test('without a grant the mail waits and says why; connected again, it leaves', async () => {
  const mailbox = await aConnected()
  box.clock.advance(3_600_000)
  oauth.grants.clear()
  const sent = await compose(mailbox)
  await untilAll(sent.message_id, 'deferred')
  assert.match((await deliveriesOf(sent.message_id))[0]!.response!, /must be connected again/)
  assert.equal((await account.api.get(`/v1/inboxes/${mailbox.inboxId}`)).body.connection.state, 'reconnect_required')
  assert.equal(logins.length, 0)
  await connect(mailbox)
  box.clock.advance(120_000)
  await untilAll(sent.message_id, 'delivered')
})

test('a provider that throttles a mailbox is left alone by all its mail, and not by that of another', async () => {
  const [slow, other] = [await aConnected(), await aConnected()]
  const isOfSlow = (): boolean => logins.at(-1)!.includes(slow.email)
  answerWith(verb => (verb === 'AUTH' && isOfSlow() ? '454 4.7.0 Too many login attempts' : null))
  const first = await compose(slow)
  await untilAll(first.message_id, 'deferred')
  const attempts = logins.length
  const second = await compose(slow)
  const third = await compose(other)
  await untilAll(third.message_id, 'delivered')
  await eventually('the second was looked at', async () =>
    box.app.world.db.maybe(
      sql`select 1 from queue where message_id = ${second.message_id} and due_at is not null and status = 'queued'`,
    ),
  )
  assert.equal(logins.length, attempts + 1, 'the provider was asked for the other mailbox alone')
  assert.equal((await deliveriesOf(second.message_id))[0]!.attempts, 0)
  answerWith(() => null)
  box.clock.advance(130_000)
  await untilAll(first.message_id, 'delivered')
  await untilAll(second.message_id, 'delivered')
})

test('each recipient has its own verdict, and a daily limit of the mailbox only delays', async () => {
  const mailbox = await aConnected()
  const unknown = `${unique('nobody')}@one.example`
  answerWith((verb, line) => (verb === 'RCPT' && line.includes(unknown) ? '550 5.1.1 No such user' : null))
  const sent = await compose(mailbox, { to: [unknown, 'eve@two.example'] })
  await eventually('both have ended', async () => {
    const statuses = new Map((await deliveriesOf(sent.message_id)).map(each => [each.recipient, each.status]))
    return statuses.get(unknown) === 'bounced' && statuses.get('eve@two.example') === 'delivered'
  })
  assert.equal((await compose(mailbox, { to: [unknown] })).status, 'suppressed')
  answerWith(verb => (verb === 'CONTENT' ? '550 5.4.5 Daily user sending limit exceeded.' : null))
  const late = await compose(mailbox)
  await untilAll(late.message_id, 'deferred')
  answerWith(() => null)
  box.clock.advance(130_000)
  await untilAll(late.message_id, 'delivered')
})

test('a pause of a domain holds its recipients; the others leave, and the held ones with its end', async () => {
  const mailbox = await aConnected()
  const domain = `${unique('paused')}.example`
  const pause = await account.api.post('/v1/suspensions', {
    scope_type: 'rule',
    scope_value: `recipient_domain:${domain}`,
  })
  assert.equal(pause.status, 201, JSON.stringify(pause.body))
  const sent = await compose(mailbox, { to: [`bob@${domain}`, 'eve@two.example'] })
  await eventually('the other left', async () => (await statusesOf(sent.message_id)).includes('delivered'))
  assert.deepEqual(
    sink.received.map(({ recipients }) => recipients),
    [['eve@two.example']],
  )
  await account.api.post(`/v1/suspensions/${pause.body.id}/resume`, {})
  await untilAll(sent.message_id, 'delivered')
  assert.equal(sink.received.length, 2)
})

test('a pause that comes before the transaction begins stops all of it, and holds what it matches', async () => {
  const mailbox = await aConnected()
  const domain = `${unique('paused')}.example`
  const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>()
  let open = (): void => {}
  const opened = new Promise<void>(resolve => (open = resolve))
  box.clock.advance(3_600_000)
  oauth.beforeRefresh = async () => {
    asked()
    await opened
  }
  const sent = await compose(mailbox, { to: [`bob@${domain}`, 'eve@two.example'] })
  await isAsked
  const pause = await account.api.post('/v1/suspensions', {
    scope_type: 'rule',
    scope_value: `recipient_domain:${domain}`,
  })
  assert.equal(pause.status, 201)
  open()
  oauth.beforeRefresh = async () => {}
  await eventually('the other left', async () => (await statusesOf(sent.message_id)).includes('delivered'))
  assert.deepEqual(
    sink.received.map(({ recipients }) => recipients),
    [['eve@two.example']],
  )
  await account.api.post(`/v1/suspensions/${pause.body.id}/resume`, { action: 'purge' })
})

test('disconnecting cancels what waits, held mail too when it is released; new mail leaves from the inbox itself', async () => {
  const mailbox = await aConnected()
  const domain = `${unique('paused')}.example`
  const pause = await account.api.post('/v1/suspensions', {
    scope_type: 'rule',
    scope_value: `recipient_domain:${domain}`,
  })
  answerWith(verb => (verb === 'AUTH' ? '454 4.7.0 Try again later' : null))
  const waiting = await compose(mailbox)
  const held = await compose(mailbox, { to: [`bob@${domain}`] })
  await untilAll(waiting.message_id, 'deferred')
  assert.equal((await account.api.delete(`/v1/inboxes/${mailbox.inboxId}/connect`)).status, 200)
  assert.deepEqual(await statusesOf(waiting.message_id), ['cancelled'])
  const last = (await eventsOf(waiting.message_id)).at(-1)!
  assert.equal(last.type, 'cancelled')
  assert.match(String(last.data['reason']), /disconnected/)
  assert.deepEqual(await statusesOf(held.message_id), ['held'])
  await account.api.post(`/v1/suspensions/${pause.body.id}/resume`, {})
  // The provider throttled, so that it is not asked at once.
  box.clock.advance(130_000)
  await untilAll(held.message_id, 'cancelled')
  const count = async (type: string) => (await eventsOf(held.message_id)).filter(event => event.type === type).length
  assert.equal(await count('cancelled'), 1)
  assert.equal(sink.received.length, 0)
  const own = await compose(mailbox, { to: [`${unique('bob')}@one.example`] })
  const { body } = await account.api.get(`/v1/messages/${own.message_id}`)
  assert.match(body.from, /sluice\.test>?$/)
})

test('mail that was written from one mailbox never leaves through another', async () => {
  const mailbox = await aConnected()
  const domain = `${unique('paused')}.example`
  const pause = await account.api.post('/v1/suspensions', {
    scope_type: 'rule',
    scope_value: `recipient_domain:${domain}`,
  })
  const held = await compose(mailbox, { to: [`bob@${domain}`] })
  await account.api.delete(`/v1/inboxes/${mailbox.inboxId}/connect`)
  await connect({ ...mailbox, email: `${unique('other')}@provider.example` })
  await account.api.post(`/v1/suspensions/${pause.body.id}/resume`, {})
  await untilAll(held.message_id, 'cancelled')
  assert.equal(sink.received.length, 0)
})

test('an approved mail leaves through the provider, and cannot be approved once the mailbox is disconnected', async () => {
  const mailbox = await aConnected()
  await account.api.patch(`/v1/inboxes/${mailbox.inboxId}`, { policy: { max_send_per_hour: 0 } })
  const approver = await account.withKey({ scopes: ['admin', 'read'] })
  const [one, two] = [await compose(mailbox), await compose(mailbox)]
  const approved = await approver.post(`/v1/approvals/${one.approval_id}/approve`)
  assert.equal(approved.status, 200, JSON.stringify(approved.body))
  await eventually('it left', async () => sink.received.length === 1)
  assert.equal(sink.received[0]!.mailFrom, mailbox.email)
  await account.api.delete(`/v1/inboxes/${mailbox.inboxId}/connect`)
  const approve = () => approver.post(`/v1/approvals/${two.approval_id}/approve`)
  const refused = await approve()
  assert.equal(refused.status, 409)
  assert.match(refused.body.error.message, /disconnected/)
  await connect({ ...mailbox, email: `${unique('bob')}@provider.example` })
  assert.equal((await approve()).status, 409, 'of another mailbox it is none')
  assert.equal((await approver.get(`/v1/approvals/${two.approval_id}`)).body.status, 'pending')
})

test('nothing of a sandbox leaves through a provider', async () => {
  const sandbox = await anAccount({ sandbox: true, box })
  const mailbox = await aConnected(sandbox)
  const sent = await compose(mailbox, {}, sandbox)
  await eventually('it is delivered by the simulator', async () => {
    const { body } = await sandbox.api.get(`/v1/messages/${sent.message_id}`)
    return body.deliveries[0].status === 'delivered'
  })
  assert.equal(sink.received.length, 0)
})

test('neither of the addresses of a connected inbox is a participant of its threads', async () => {
  const mailbox = await aConnected()
  const { address } = (await account.api.get(`/v1/inboxes/${mailbox.inboxId}`)).body
  const { id } = await compose(mailbox, { cc: [address, mailbox.email] })
  const { thread_id } = (await account.api.get(`/v1/inbox-messages/${id}`)).body
  const { participants } = (await account.api.get(`/v1/threads/${thread_id}`)).body
  assert.deepEqual(participants, ['bob@one.example'])
})
