// SMTP submission: what goes in by this door passes the same gate as by the API.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { newId } from '../../platform/ids.ts'
import { refuse, type RefusalCode } from '../../platform/refusal.ts'
import { TestClient } from '../../smtp/server/client.fixture.ts'
import { theBox } from '../../../test/support/box.ts'
import { eventually } from '../../../test/support/factories.ts'
import { Gate } from '../messages/gate.ts'
import type { SmtpPrincipal } from '../../identity/smtp-credentials/authenticate.ts'
import { aSubmissionPort, idIn, message, PASSWORD, PLAIN, type Submissions } from './submission.fixture.ts'

test('a mail program logs in after STARTTLS and its message is accepted for every recipient', async t => {
  const { port, account, stored, login } = await aSubmissionPort(t)
  const connection = new SMTPConnection({
    port,
    host: '127.0.0.1',
    requireTLS: true,
    tls: { rejectUnauthorized: false },
  })
  await new Promise<void>((resolve, reject) => connection.once('error', reject).connect(() => resolve()))
  await new Promise<void>((resolve, reject) =>
    connection.login({ user: 'mailer', pass: PASSWORD }, error => (error ? reject(error) : resolve())),
  )
  const envelope = { from: 'hello@acme.example', to: ['you@example.com', 'cc@example.com', 'hidden@example.com'] }
  const source = PLAIN.replace('Subject', 'Cc: "C, c" <cc@EXAMPLE.com>\r\nSubject')
  const info = await new Promise<{ response?: string }>((resolve, reject) =>
    connection.send(envelope, source, (error, sent) => (error ? reject(error) : resolve(sent!))),
  )
  connection.quit()

  const id = idIn(info.response!)
  const read = await account.api.get(`/v1/messages/${id}`)
  assert.deepEqual(
    read.body.deliveries.map((each: { recipient: string; kind: string }) => [each.recipient, each.kind]),
    [
      ['you@example.com', 'to'],
      ['cc@example.com', 'cc'],
      ['hidden@example.com', 'bcc'],
    ],
  )
  const kept = await stored(id)
  assert.equal(kept.credential_id, login.credentialId)
  assert.match(kept.source, /^Received: from \S+ \(\[127\.0\.0\.1\]\)\r\n\tby mx\.sluice\.test with ESMTPSA id /)
  assert.ok(kept.source.includes(id))
  assert.doesNotMatch(kept.source, /mailer|canary/)
})

test('the submission is in the audit log with the credential as its actor', async t => {
  const { client, account, login } = await aSubmissionPort(t)
  const id = idIn(await (await client()).send(PLAIN))
  const { db } = account.box.app.world
  const entries = await db.many<Record<string, unknown>>(
    sql`select actor_type, actor_id, actor_name, ip, action, request_id from audit_entries where target_id = ${id}`,
  )
  assert.equal(entries.length, 1)
  const { request_id, ...entry } = entries[0]!
  assert.match(String(request_id), /^[0-9a-f-]{36}$/)
  assert.deepEqual(entry, {
    actor_type: 'smtp_credential',
    actor_id: login.credentialId,
    actor_name: 'mailer',
    ip: '127.0.0.1',
    action: 'message.send',
  })
})

test('without a login nothing is taken, and a wrong password is refused', async t => {
  const { port, account } = await aSubmissionPort(t, { trustsClearText: () => false })
  const client = await TestClient.open(t, port)
  assert.doesNotMatch(await client.hello(), /AUTH/)
  assert.match(await client.say('MAIL FROM:<>'), /^530 5\.7\.0/)
  assert.match(await client.login({ username: 'mailer', password: PASSWORD }), /^538 5\.7\.11/)
  await client.say('STARTTLS')
  await client.secure()
  assert.match(await client.say('EHLO x'), /AUTH PLAIN LOGIN/)
  assert.match(await client.login({ username: 'mailer', password: 'wrong' }), /^535 5\.7\.8 The username or password/)
  assert.match(await client.login({ username: 'mailer', password: PASSWORD }), /^235/)
  assert.ok(!account.box.logLines.some(line => line.includes(PASSWORD)))
})

test('the keeper of logins is given the address, and its refusals become replies', async t => {
  const seen: string[] = []
  const codes = { ip_not_allowed: /^535 5\.7\.8/, rate_limited: /^452 4\.7\.1/, unavailable: /^451 4\.3\.0/ } as const
  for (const [code, reply] of Object.entries(codes) as [keyof typeof codes, RegExp][]) {
    const authenticate = async ({ ip }: { ip: string }) => {
      seen.push(ip)
      throw refuse(code, 'Not now.\r\n250 2.7.0 Injected')
    }
    const { port } = await aSubmissionPort(t, { authenticator: { authenticate } })
    const client = await TestClient.open(t, port)
    await client.hello()
    const said = await client.login({ username: 'mailer', password: PASSWORD })
    assert.match(said, reply)
    assert.equal(said.includes('\n'), false)
  }
  assert.deepEqual(seen, ['127.0.0.1', '127.0.0.1', '127.0.0.1'])
})

test('a credential that was revoked stops sending at once, also over a connection that is open', async t => {
  let refusal: RefusalCode | null = null
  const known: { login?: SmtpPrincipal } = {}
  const { login, port, count } = await aSubmissionPort(t, {
    authenticator: {
      authenticate: async ({ username }) => {
        if (refusal) throw refuse(refusal, 'No.')
        return { ...known.login!, username }
      },
    },
  })
  known.login = login
  const client = await TestClient.open(t, port)
  await client.hello({ username: 'mailer', password: PASSWORD })
  assert.match(await client.send(PLAIN), /^250/)
  refusal = 'unavailable'
  assert.match(await client.send(PLAIN), /^451 4\.3\.0/)
  refusal = 'unauthorized'
  assert.match(await client.send(PLAIN), /^421 4\.7\.0/)
  client.end()
  await client.closed()
  assert.equal(await count(), 1)
})

test('each refusal of the gate has its own reply, and nothing is stored', async t => {
  const port = await aSubmissionPort(t)
  const { client, account, count } = port
  const { api, tenant } = account
  const session = await client()
  const cases: [() => Promise<unknown>, RegExp, () => Promise<unknown>][] = [
    [
      () => api.patch(`/v1/tenants/${tenant.id}`, { quota_daily: 0 }),
      /^452 4\.7\.1/,
      () => api.patch(`/v1/tenants/${tenant.id}`, { quota_daily: null }),
    ],
    [
      () => api.patch(`/v1/tenants/${tenant.id}`, { rate_per_minute: 0 }),
      /^452 4\.7\.1/,
      () => api.patch(`/v1/tenants/${tenant.id}`, { rate_per_minute: null }),
    ],
    [
      () => api.patch(`/v1/tenants/${tenant.id}`, { status: 'disabled' }),
      /^550 5\.7\.1/,
      () => api.patch(`/v1/tenants/${tenant.id}`, { status: 'active' }),
    ],
    [() => pause(port, 'reject'), /^451 4\.7\.1/, () => resume(port)],
  ]
  for (const [before, reply, after] of cases) {
    await before()
    assert.match(await session.send(PLAIN), reply)
    await after()
  }
  await api.patch(`/v1/tenants/${tenant.id}`, { max_recipients_per_message: 1 })
  assert.match(await session.send(PLAIN, { to: ['a@example.com', 'b@example.com'] }), /^550 5\.5\.3/)
  assert.equal(await count(), 0)
  assert.match(await session.send(PLAIN, { to: ['a@example.com', 'a@EXAMPLE.com'] }), /^250/)
})

test('with a pause that holds, the message is accepted and held', async t => {
  const port = await aSubmissionPort(t)
  await pause(port, 'hold')
  const id = idIn(await (await port.client()).send(PLAIN))
  const { body } = await port.account.api.get(`/v1/messages/${id}`)
  assert.equal(body.deliveries[0].status, 'held')
})

test('From must be a verified domain of the tenant', async t => {
  const { client, count } = await aSubmissionPort(t, { sandbox: false })
  assert.match(await (await client()).send(PLAIN), /^550 5\.7\.1 The domain acme\.example is not verified/)
  assert.equal(await count(), 0)
})

test('a database that is away answers 451 4.3.0, an error of ours too, and the log says which', async t => {
  const away = await aSubmissionPort(t, { gate: { submit: () => Promise.reject(refuse('unavailable', 'Try again.')) } })
  assert.match(await (await away.client()).send(PLAIN), /^451 4\.3\.0/)
  const bug = await aSubmissionPort(t, { gate: { submit: () => Promise.reject(new Error('select secret_column')) } })
  const reply = await (await bug.client()).send(PLAIN)
  assert.match(reply, /^451 4\.3\.0/)
  assert.doesNotMatch(reply, /secret_column/)
  assert.ok(bug.account.box.logLines.some(line => line.includes('an SMTP submission failed')))
})

test('recipients that are no addresses are refused, and the others are served', async t => {
  const { client, account } = await aSubmissionPort(t)
  const session = await client()
  await session.say('MAIL FROM:<me@acme.example>')
  assert.match(await session.say('RCPT TO:<nonsense>'), /^553 5\.1\.3/)
  assert.match(await session.say('RCPT TO:<a@127.0.0.1>'), /^553 5\.1\.3/)
  assert.match(await session.say('RCPT TO:<a@example.com,b@example.com>'), /^553 5\.1\.3/)
  assert.match(await session.say('RCPT TO:<you@example.com>'), /^250/)
  await session.say('DATA')
  session.write(PLAIN)
  const { body } = await account.api.get(`/v1/messages/${idIn(await session.say('.'))}`)
  assert.equal(body.deliveries.length, 1)
})

test('a thousand recipients fit into a transaction, the next is deferred', async t => {
  const { client, account } = await aSubmissionPort(t)
  const session = await client()
  session.write('MAIL FROM:<me@acme.example>\r\n')
  for (let n = 0; n <= 1_000; n++) session.write(`RCPT TO:<r${n}@example.com>\r\n`)
  session.write('DATA\r\n')
  const replies = await session.replies(1_003)
  assert.equal(replies.filter(reply => reply.startsWith('250 2.1.5')).length, 1_000)
  assert.match(replies[1_001]!, /^452 4\.5\.3/)
  session.write(PLAIN)
  const { body } = await account.api.get(`/v1/messages/${idIn(await session.say('.'))}`)
  assert.equal(body.deliveries.length, 1_000)
})

test('SIZE is announced and kept', async t => {
  const { client, port } = await aSubmissionPort(t)
  assert.match(await (await TestClient.open(t, port)).hello(), /250-SIZE 36700160/)
  assert.match(await (await client()).say('MAIL FROM:<> SIZE=36700161'), /^552 5\.3\.4/)
})

test('a smuggled message is refused whole', async t => {
  const { client, count } = await aSubmissionPort(t)
  const session = await client()
  for (const end of ['\n.\n', '\r\n.\n', '\n.\r\n', '\r.\r\n', '\r\n.\r']) {
    const reply = await session.send(`${PLAIN}${end}MAIL FROM:<evil@acme.example>\r\n`)
    assert.match(reply, /^550 5\.6\.0/, JSON.stringify(end))
  }
  assert.match(await session.say('NOOP'), /^250/)
  assert.equal(await count(), 0)
})

test('an idempotency key makes one message of two, also where the program draws new ids and boundaries', async t => {
  const { client, count } = await aSubmissionPort(t)
  const session = await client()
  const mail = (n: number, text = 'Hello') =>
    message(
      'From: hello@acme.example',
      `Message-ID: <${n}@acme.example>`,
      `Date: Sat, 15 Nov 2025 03:0${n}:00 +0000`,
      'Idempotency-Key: order-1',
      `Content-Type: multipart/mixed; boundary="boundary-${n}-xyz"`,
      '',
      `--boundary-${n}-xyz`,
      '',
      text,
      `--boundary-${n}-xyz--`,
    )
  const first = idIn(await session.send(mail(1), { to: ['a@example.com', 'b@example.com'] }))
  assert.equal(idIn(await session.send(mail(2), { to: ['b@example.com', 'a@example.com'] })), first)
  assert.match(await session.send(mail(3, 'Bye'), { to: ['a@example.com', 'b@example.com'] }), /^550 5\.5\.0/)
  assert.match(await session.send(mail(4), { to: ['a@example.com'] }), /^550 5\.5\.0/)
  assert.equal(await count(), 1)
})

test('a message whose sender has gone before the reply is still one message', async t => {
  const [begun, mayGoOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const gate = new Gate((await theBox()).app.world)
  const { client, count } = await aSubmissionPort(t, {
    gate: {
      submit: async submission => {
        begun.resolve()
        await mayGoOn.promise
        return gate.submit(submission)
      },
    },
  })
  const session = await client()
  session.write(`MAIL FROM:<>\r\nRCPT TO:<a@example.com>\r\nDATA\r\n${PLAIN}.\r\n`)
  await begun.promise
  session.destroy()
  await session.closed()
  mayGoOn.resolve()
  await eventually('the message is stored', async () => (await count()) === 1)
})

async function pause({ account }: Submissions, action: 'hold' | 'reject'): Promise<void> {
  const { db, clock } = account.box.app.world
  await db.transact(system('test'), tx =>
    tx.run(sql`
      insert into suspensions (id, account_id, tenant_id, scope_type, scope_value, queue_action, source, created_at)
      values (${newId(clock.now())}, ${account.id}, ${account.tenant.id}, 'tenant', ${account.tenant.id}, ${action},
        'api', ${tx.now})`),
  )
}

async function resume({ account }: Submissions): Promise<void> {
  await account.box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`update suspensions set status = 'resumed' where account_id = ${account.id}`),
  )
}
