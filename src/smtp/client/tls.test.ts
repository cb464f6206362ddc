// Encryption on the way out: taken when offered, demanded when asked for, and passwords never without it.
import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { aCertificate, type Certified } from './certificates.fixture.ts'
import { aZone } from './fake-dns.fixture.ts'
import { aServer, type Answer, type FakeServer } from './fake-smtp.fixture.ts'
import type { TransportOptions } from './transport.ts'
import { until } from '../../../test/support/eventually.ts'
import { anEnvelope, aTransport, brief, routesTo } from './transport.fixture.ts'

const tls: Certified = await aCertificate(['mx.receiver.test'])
const SECRET = 'correct horse'

/** Agrees to STARTTLS and then does something else. */
const agreeing = (then: (session: Parameters<Exclude<Answer, string | null>>[1]) => void): Record<string, Answer> => ({
  EHLO: '250-fake.test\n250 STARTTLS',
  STARTTLS: (_, session) => {
    session.socket.write('220 2.0.0 Go ahead\r\n')
    session.isMute = true
    then(session)
    return null
  },
})

const withAuth = ({ address, port }: FakeServer): Pick<TransportOptions, 'routes'> => ({
  routes: [{ domain: '*', host: address, port, auth: { user: 'user', pass: SECRET } }],
})

test('STARTTLS is taken when offered, without looking at the certificate, and what was said before is asked again', async t => {
  const dns = await aZone(t, {
    'receiver.test': { MX: [[10, 'mx.other.test']] },
    'mx.other.test': { A: ['127.0.0.1'] },
  })
  const server = await aServer(t, { tls })
  const transport = aTransport(t, { dnsServers: [dns.server], mxPort: server.port })
  const [outcome] = await transport.send('receiver.test', anEnvelope())

  assert.equal(brief(outcome), 'delivered over TLS')
  const { lines, socket } = server.sessions[0]!
  assert.deepEqual(lines.slice(0, 3), ['EHLO sender.test', 'STARTTLS', 'EHLO sender.test'])
  assert.equal(server.messages[0]!.session.isTls, true)
  assert.equal((socket as TLSSocket).servername, 'mx.other.test')
})

test('a message over TLS may be large', async t => {
  const server = await aServer(t, { tls, extensions: ['PIPELINING'] })
  const source = Buffer.from(`${'x'.repeat(98)}\r\n`.repeat(20_000))
  const [outcome] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ source }))
  assert.equal(brief(outcome), 'delivered over TLS')
  assert.ok(server.messages[0]!.source.equals(source))
})

test('a handshake that fails falls back to clear text on a new connection, unless TLS is required', async t => {
  const failures: Record<string, Record<string, Answer>> = {
    closes: agreeing(({ socket }) => socket.end()),
    resets: agreeing(({ socket }) => void socket.resetAndDestroy()),
    babbles: agreeing(({ socket }) => void socket.write('this is no handshake\r\n')),
    injects: agreeing(({ socket }) => void socket.write('250-injected\r\n250 PIPELINING\r\n')),
    hangs: agreeing(() => {}),
  }
  for (const [how, answers] of Object.entries(failures)) {
    const server = await aServer(t, { answers })
    const transport = aTransport(t, { ...routesTo(server), timeouts: { commandMs: 400 } })
    const [open] = await transport.send('receiver.test', anEnvelope())
    const [strict] = await transport.send('receiver.test', anEnvelope({ requireTls: true }))

    assert.equal(brief(open), 'delivered', how)
    assert.equal(brief(strict), 'fault tls', how)
    // What follows are the bytes of the handshake, which may happen to hold a line break.
    assert.deepEqual(server.sessions[0]!.lines.slice(0, 2), ['EHLO sender.test', 'STARTTLS'])
    assert.ok(!server.sessions[0]!.lines.some(line => line.startsWith('MAIL')))
    assert.equal(server.messages.length, 1, how)
    assert.equal(server.sessions.length, 3, how)
  }
})

test('replies put before the handshake are never taken for the server over TLS', async t => {
  // In one packet with the agreement: what an attacker in between would add.
  for (const STARTTLS of ['250-injected\r\n250 AUTH PLAIN\r\n', '250-injected\r\n', '250-injec']) {
    const server = await aServer(t, { tls, trailers: { STARTTLS } })
    const [outcome] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ requireTls: true }))
    assert.equal(brief(outcome), 'fault tls', JSON.stringify(STARTTLS))
  }
})

test('TLS that is not offered, or not just now, is done without, unless it is required', async t => {
  const scripts: [answers: Record<string, Answer>, sessions: number][] = [
    [{}, 1],
    [{ EHLO: '250-fake.test\n250 STARTTLS', STARTTLS: '454 4.7.0 Not now' }, 1],
  ]
  for (const [answers, sessions] of scripts) {
    const server = await aServer(t, { answers })
    const [open] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope())
    assert.equal(brief(open), 'delivered')
    assert.equal(server.sessions.length, sessions)
    const strict = aTransport(t, routesTo(server))
    const [refused] = await strict.send('receiver.test', anEnvelope({ requireTls: true }))
    assert.equal(brief(refused), 'fault tls')
    assert.equal(server.messages.length, 1)
    await until(() => strict.connectionsByHost().size === 0)
  }
})

test('mail that requires TLS takes a kept connection only if it is encrypted', async t => {
  const plain = await aServer(t)
  const secure = await aServer(t, { tls })
  const toPlain = aTransport(t, routesTo(plain))
  const toSecure = aTransport(t, routesTo(secure))
  await toPlain.send('receiver.test', anEnvelope())
  await toSecure.send('receiver.test', anEnvelope())

  assert.equal(brief((await toPlain.send('receiver.test', anEnvelope({ requireTls: true })))[0]), 'fault tls')
  assert.equal(brief((await toSecure.send('receiver.test', anEnvelope({ requireTls: true })))[0]), 'delivered over TLS')
  assert.equal(secure.sessions.length, 1)
  assert.equal(plain.messages.length, 1)
})

test('a waiting message that requires TLS does not starve behind kept connections without it', async t => {
  const server = await aServer(t)
  const transport = aTransport(t, { ...routesTo(server), connectionsPerHostMax: 1, idleMs: 60_000 })
  const plain = Array.from({ length: 5 }, () => transport.send('receiver.test', anEnvelope()))
  const strict = transport.send('receiver.test', anEnvelope({ requireTls: true }))

  for (const send of plain) assert.equal(brief((await send)[0]), 'delivered')
  assert.equal(brief((await strict)[0]), 'fault tls')
})

test('a static route logs in by PLAIN, or by LOGIN, on loopback and over TLS', async t => {
  const plain = await aServer(t, { extensions: ['AUTH PLAIN LOGIN'] })
  const secure = await aServer(t, { extensions: ['AUTH=PLAIN'], tls })
  for (const server of [plain, secure]) {
    const [outcome] = await aTransport(t, withAuth(server)).send('receiver.test', anEnvelope())
    assert.match(brief(outcome), /^delivered/)
    const given = Buffer.from(`\0user\0${SECRET}`).toString('base64')
    assert.ok(server.sessions[0]!.lines.includes(`AUTH PLAIN ${given}`))
  }
  assert.equal(secure.messages[0]!.session.isTls, true)

  const steps = ['334 VXNlcm5hbWU6', '334 UGFzc3dvcmQ6', '235 2.7.0 Welcome']
  const next: Answer = () => steps.shift()!
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  // The fake knows verbs by their first four letters, in upper case.
  const verbs = [base64('user'), base64(SECRET)].map(line => line.slice(0, 4).toUpperCase())
  const answers = Object.fromEntries(['AUTH', ...verbs].map(verb => [verb, next]))
  const login = await aServer(t, { extensions: ['AUTH LOGIN'], answers })
  const [outcome] = await aTransport(t, withAuth(login)).send('receiver.test', anEnvelope())
  assert.equal(brief(outcome), 'delivered')
  assert.deepEqual(login.sessions[0]!.lines.slice(1, 4), ['AUTH LOGIN', base64('user'), base64(SECRET)])
})

test('a login that fails, or is not offered, puts the mail off and never bounces it', async t => {
  const wrong = await aServer(t, { extensions: ['AUTH PLAIN'], answers: { AUTH: '535 5.7.8 Wrong password' } })
  const none = await aServer(t)
  const other = await aServer(t, { extensions: ['AUTH GSSAPI'] })
  for (const server of [wrong, none, other]) {
    const [outcome] = await aTransport(t, withAuth(server)).send('receiver.test', anEnvelope())
    assert.equal(brief(outcome), 'fault auth')
    assert.ok(!JSON.stringify(outcome).includes(SECRET))
    assert.equal(server.messages.length, 0)
  }
})

test('what a server repeats of our login is not told, whole or in part, encoded or not', async t => {
  const sent = Buffer.from(`\0user\0${SECRET}`).toString('base64')
  const echoes = [sent, sent.slice(0, 9), `${sent.slice(0, 8)}\r\n535-${sent.slice(8)}`, sent.toUpperCase(), SECRET]
  for (const echo of echoes) {
    const AUTH = `535-5.7.8 Not accepted:\r\n535-"AUTH PLAIN ${echo}..."\r\n535 (see manual)`
    const server = await aServer(t, { extensions: ['AUTH PLAIN'], answers: { AUTH } })
    const [outcome] = await aTransport(t, withAuth(server)).send('receiver.test', anEnvelope())
    assert.match(
      outcome!.kind === 'fault' ? outcome!.reason : '',
      /^refused our credentials: 535 5\.7\.8 Not accepted: "AUTH PLAIN (?:\*{3} ?)+\.\.\." \(see manual\)$/,
      echo,
    )
  }
})

test('a wrong password is tried once, not once per waiting message', async t => {
  const server = await aServer(t, { extensions: ['AUTH PLAIN'], answers: { AUTH: '535 5.7.8 Wrong password' } })
  const transport = aTransport(t, { ...withAuth(server), connectionsPerHostMax: 1 })
  const sends = Array.from({ length: 30 }, () => transport.send('receiver.test', anEnvelope()))
  assert.deepEqual(new Set((await Promise.all(sends)).flat().map(brief)), new Set(['fault auth']))
  assert.ok(server.sessions.length <= 2, `${server.sessions.length} tries`)
})

test('a password is not sent in clear text to another machine', async t => {
  const own = Object.values(networkInterfaces())
    .flat()
    .find(each => each && !each.internal && each.family === 'IPv4')
  if (!own) return t.skip('this machine has loopback only')
  const server = await aServer(t, { address: own.address, extensions: ['AUTH PLAIN'] })
  const [outcome] = await aTransport(t, withAuth(server)).send('receiver.test', anEnvelope())
  assert.equal(brief(outcome), 'fault auth')
  assert.deepEqual(server.sessions[0]!.lines, ['EHLO sender.test'])
})
