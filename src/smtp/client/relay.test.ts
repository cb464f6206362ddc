// Mail by way of a server that the sender has an account at: the token, the encryption that protects it, and few connections.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { createServer } from 'node:tls'
import { aCertificate, anAuthority } from './certificates.fixture.ts'
import { aServer, type FakeServer, type Script } from './fake-smtp.fixture.ts'
import { anEnvelope, aTransport, brief } from './transport.fixture.ts'
import type { Relay } from './transport.ts'

const TOKEN = `token-${'x'.repeat(4_000)}`
const LOGIN = `AUTH XOAUTH2 ${Buffer.from(`user=ann@provider.test\u0001auth=Bearer ${TOKEN}\u0001\u0001`).toString('base64')}`

const authority = await anAuthority()
const tls = await aCertificate(['localhost'], authority)

const aProvider = (t: TestContext, script: Script = {}): Promise<FakeServer> =>
  aServer(t, { extensions: ['PIPELINING', 'AUTH PLAIN XOAUTH2'], ...script })

const relayTo = (port: number, fields: Partial<Relay> = {}): Relay => ({
  key: 'relay 1',
  host: 'localhost',
  port,
  security: 'starttls',
  user: 'ann@provider.test',
  accessToken: TOKEN,
  connectionsMax: 2,
  ...fields,
})

/** Encrypts what reaches the server, from the first byte on. */
async function encryptedFrontOf(t: TestContext, { port }: FakeServer, certificate = tls): Promise<number> {
  const front = createServer(certificate, socket => {
    const behind = connect(port, '127.0.0.1')
    for (const each of [socket, behind]) each.on('error', () => {})
    socket.pipe(behind).pipe(socket)
    t.after(() => socket.destroy())
  })
  front.on('tlsClientError', () => {})
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  t.after(() => front.close())
  return (front.address() as AddressInfo).port
}

test('recipients at several domains share a transaction, behind a login with a token over STARTTLS', async t => {
  const server = await aProvider(t, { tls })
  const transport = aTransport(t, { trustedCertificates: [authority.cert] })
  const recipients = ['a@one.test', 'b@two.test', 'c@three.test']
  const outcomes = await transport.sendThrough(relayTo(server.port), anEnvelope({ recipients }))
  assert.deepEqual(outcomes.map(brief), Array(3).fill('delivered over TLS'))
  assert.deepEqual(
    server.messages.map(({ to }) => to),
    [recipients],
  )
  const { lines } = server.sessions[0]!
  assert.ok(lines.indexOf(LOGIN) > lines.indexOf('STARTTLS'))
})

test('a server that is encrypted from the first byte on is spoken to so', async t => {
  const server = await aProvider(t)
  const port = await encryptedFrontOf(t, server)
  const transport = aTransport(t, { trustedCertificates: [authority.cert] })
  const [outcome] = await transport.sendThrough(relayTo(port, { security: 'implicit' }), anEnvelope())
  assert.equal(brief(outcome), 'delivered over TLS')
  assert.deepEqual(server.sessions[0]!.lines.slice(0, 2), ['EHLO sender.test', LOGIN])
})

test('a token is not sent without encryption, nor to a server with another certificate', async t => {
  const clear = await aProvider(t)
  const stranger = await aProvider(t, { tls: await aCertificate(['localhost']) })
  const transport = aTransport(t, { trustedCertificates: [authority.cert] })
  const hidden = await encryptedFrontOf(t, stranger, await aCertificate(['other.test'], authority))
  const relays = [
    relayTo(clear.port),
    relayTo(stranger.port, { key: 'relay 2' }),
    relayTo(hidden, { key: 'relay 3', security: 'implicit' }),
    relayTo(clear.port, { key: 'relay 4', security: 'implicit' }),
  ]
  for (const relay of relays) {
    const [outcome] = await transport.sendThrough(relay, anEnvelope())
    assert.equal(brief(outcome), 'fault tls', relay.key)
  }
  for (const { lines } of [...clear.sessions, ...stranger.sessions])
    assert.ok(!lines.some(line => line.startsWith('AUTH')), lines.join())
})

test('on this machine a relay may be in clear text, unless the sender requires encryption', async t => {
  const server = await aProvider(t)
  const transport = aTransport(t)
  const relay = relayTo(server.port, { security: 'clear' })
  assert.equal(brief((await transport.sendThrough(relay, anEnvelope()))[0]), 'delivered')
  assert.equal(brief((await transport.sendThrough(relay, anEnvelope({ requireTls: true })))[0]), 'fault tls')
})

test('a refused token is told from a login that fails for now, and neither is final', async t => {
  const cases: [answer: Script['answers'], expected: string][] = [
    // The challenge that says why is answered with an empty line.
    [{ AUTH: '334 eyJzdGF0dXMiOiI0MDAifQ==', '': '535 5.7.8 Bad credentials' }, 'fault auth 5.7.8'],
    [{ AUTH: '535 5.7.3 Authentication unsuccessful' }, 'fault auth 5.7.8'],
    [{ AUTH: '454 4.7.0 Too many login attempts' }, 'fault auth'],
    [{ AUTH: '334 eyJ9', '': '454 4.7.0 Temporary authentication failure' }, 'fault auth'],
    [{ EHLO: '250-fake.test\n250 AUTH PLAIN LOGIN' }, 'fault auth'],
  ]
  for (const [answers, expected] of cases) {
    const server = await aProvider(t, { answers: answers! })
    const [outcome] = await aTransport(t).sendThrough(relayTo(server.port, { security: 'clear' }), anEnvelope())
    assert.equal(brief(outcome), expected, JSON.stringify(answers))
    assert.equal(server.messages.length, 0)
  }
})

test('one mailbox has no more connections than its provider takes, and does not share them with another', async t => {
  let most = 0
  const server = await aProvider(t, {
    answers: {
      MAIL: () => {
        most = Math.max(most, server.open.size)
        return '250 2.1.0 Ok'
      },
    },
  })
  const transport = aTransport(t)
  const [one, other] = ['ann', 'bob'].map(name =>
    relayTo(server.port, { key: `relay ${name}`, user: `${name}@provider.test`, security: 'clear' }),
  )
  const sends = Array.from({ length: 12 }, () => transport.sendThrough(one!, anEnvelope()))
  assert.ok((await Promise.all(sends)).every(([outcome]) => brief(outcome) === 'delivered'))
  assert.ok(most <= 2, `${most} connections`)
  await transport.sendThrough(other!, anEnvelope())
  const users = server.sessions.map(({ lines }) => {
    const login = lines.find(line => line.startsWith('AUTH'))!
    return /user=(\w+)/.exec(Buffer.from(login.split(' ')[2]!, 'base64').toString())![1]
  })
  assert.equal(users.filter(user => user === 'bob').length, 1)
})

test('more than a hundred recipients take several transactions, one after the other', async t => {
  const server = await aProvider(t)
  const recipients = Array.from({ length: 250 }, (_, n) => `user${n}@d${n % 7}.test`)
  const outcomes = await aTransport(t).sendThrough(
    relayTo(server.port, { security: 'clear' }),
    anEnvelope({ recipients }),
  )
  assert.equal(outcomes.length, 250)
  assert.deepEqual(
    server.messages.map(({ to }) => to.length),
    [100, 100, 50],
  )
  assert.equal(server.sessions.length, 1)
})

test('a pause that comes while the login is under way withholds the mail', async t => {
  const server = await aProvider(t)
  const envelope = anEnvelope({ mayBegin: async () => false })
  const [outcome] = await aTransport(t).sendThrough(relayTo(server.port, { security: 'clear' }), envelope)
  assert.equal(brief(outcome), 'withheld')
  assert.ok(!server.sessions[0]!.lines.some(line => line.startsWith('MAIL')))
})
