// MTA-STS (RFC 8461): domains that demand verified encryption, and policy hosts that cannot be trusted with anything.
import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { steerableClock } from '../../../test/support/clock.ts'
import { cidrList } from '../../platform/net/cidr.ts'
import { aCertificate, anAuthority } from './certificates.fixture.ts'
import { aZone, type FakeDns, type Name } from './fake-dns.fixture.ts'
import { aServer, type FakeServer } from './fake-smtp.fixture.ts'
import type { Transport, TransportOptions } from './transport.ts'
import { anEnvelope, aTransport, brief } from './transport.fixture.ts'

const authority = await anAuthority()
const policyHost = await aCertificate(['mta-sts.receiver.test'], authority)
const mailHost = await aCertificate(['mx.receiver.test'], authority)
const unknown = await aCertificate(['mx.receiver.test'])

const policy = (mode: string, mx: string, maxAge = 86_400): string =>
  `version: STSv1\r\nmode: ${mode}\r\nmx: ${mx}\r\nmax_age: ${maxAge}\r\n`

const zoneOf = (id = '1'): Record<string, Name> => ({
  'receiver.test': { MX: [[10, 'mx.receiver.test']] },
  'mx.receiver.test': { A: ['127.0.0.1'] },
  'mta-sts.receiver.test': { A: ['127.0.0.1'] },
  '_mta-sts.receiver.test': { TXT: [`v=STSv1; id=${id};`] },
})

interface Scene {
  dns: FakeDns
  fetches: () => number
  connections: () => number
  /** What the policy host serves from now on. */
  serve: (answer: string | RequestListener) => void
  transportTo: (server: FakeServer, options?: Partial<TransportOptions>) => Transport
}

async function aScene(t: TestContext, served: string | RequestListener, certified = policyHost): Promise<Scene> {
  let answer = served
  let fetches = 0
  let connections = 0
  const host: Server = createServer(certified, (request, response) => {
    fetches += 1
    assert.equal(request.url, '/.well-known/mta-sts.txt')
    assert.equal(request.headers.host?.split(':')[0], 'mta-sts.receiver.test')
    if (typeof answer === 'function') return answer(request, response)
    response.setHeader('content-type', 'text/plain')
    response.end(answer)
  })
  host.on('tlsClientError', () => {})
  host.on('connection', () => (connections += 1))
  host.listen(0, '127.0.0.1')
  await once(host, 'listening')
  t.after(() => {
    host.closeAllConnections()
    host.close()
  })
  const dns = await aZone(t, zoneOf())
  const transportTo: Scene['transportTo'] = (server, options = {}) =>
    aTransport(t, {
      dnsServers: [dns.server],
      mxPort: server.port,
      mtaStsPort: (host.address() as AddressInfo).port,
      trustedCertificates: [authority.cert],
      messagesPerConnectionMax: 1,
      ...options,
    })
  return {
    dns,
    fetches: () => fetches,
    connections: () => connections,
    serve: next => void (answer = next),
    transportTo,
  }
}

const send = async (transport: Transport): Promise<string> =>
  brief((await transport.send('receiver.test', anEnvelope()))[0])

test('an enforced policy is met by a listed host with a valid certificate', async t => {
  for (const pattern of ['mx.receiver.test', '*.receiver.test']) {
    const { transportTo } = await aScene(t, policy('enforce', pattern))
    assert.equal(await send(transportTo(await aServer(t, { tls: mailHost }))), 'delivered over TLS')
  }
})

test('an enforced policy puts mail off for a certificate of nobody, of another, or none at all', async t => {
  const another = await aCertificate(['mx.other.test'], authority)
  const { transportTo } = await aScene(t, policy('enforce', 'mx.receiver.test'))
  for (const tls of [unknown, another, undefined]) {
    const server = await aServer(t, tls ? { tls } : {})
    assert.equal(await send(transportTo(server)), 'fault tls')
    assert.equal(server.messages.length, 0)
  }
})

test('an enforced policy is not met by records that anybody could have put into DNS', async t => {
  const { dns, transportTo } = await aScene(t, policy('enforce', 'mx.receiver.test'))
  const impostor = await aServer(t, { tls: unknown })
  const key = new X509Certificate(unknown.cert).publicKey.export({ type: 'spki', format: 'der' })
  const vouching = Buffer.concat([Buffer.of(3, 1, 1), createHash('sha256').update(key).digest()])
  dns.zone[`_${impostor.port}._tcp.mx.receiver.test`] = { TLSA: [vouching] }
  assert.equal(await send(transportTo(impostor)), 'fault tls')
  assert.equal(impostor.messages.length, 0)
})

test('an enforced policy puts mail off when no MX host is on its list', async t => {
  for (const pattern of ['mx.other.test', '*.mx.receiver.test', '*.test']) {
    const { transportTo } = await aScene(t, policy('enforce', pattern))
    const server = await aServer(t, { tls: mailHost })
    assert.equal(await send(transportTo(server)), 'fault tls', pattern)
    assert.equal(server.sessions.length, 0)
  }
})

test('only the hosts on the list are tried', async t => {
  const { dns, transportTo } = await aScene(t, policy('enforce', 'mx.receiver.test'))
  dns.zone['receiver.test'] = {
    MX: [
      [5, 'mx.evil.test'],
      [10, 'mx.receiver.test'],
    ],
  }
  assert.equal(await send(transportTo(await aServer(t, { tls: mailHost }))), 'delivered over TLS')
  assert.ok(!dns.queries.some(query => query.includes('evil')))
})

test('a policy in testing, or of mode none, changes nothing', async t => {
  for (const text of [policy('testing', 'mx.other.test'), policy('none', 'mx.other.test')]) {
    const { transportTo } = await aScene(t, text)
    assert.equal(await send(transportTo(await aServer(t))), 'delivered')
  }
})

test('a domain without a record, or with a broken one, is not asked for a policy', async t => {
  const scene = await aScene(t, policy('enforce', 'mx.other.test'))
  const server = await aServer(t)
  for (const TXT of [[], ['v=spf1 -all'], ['v=STSv1'], ['v=STSv1; id=;'], ['v=STSv1; id=1;', 'v=STSv1; id=2;']]) {
    scene.dns.zone['_mta-sts.receiver.test'] = { TXT }
    assert.equal(await send(scene.transportTo(server)), 'delivered', JSON.stringify(TXT))
  }
  scene.dns.zone['_mta-sts.receiver.test'] = { rcode: 'SERVFAIL' }
  assert.equal(await send(scene.transportTo(server)), 'delivered')
  assert.equal(scene.fetches(), 0)
})

test('a policy that cannot be had as it must be binds nobody', async t => {
  const strict = policy('enforce', 'mx.other.test')
  const answers: Record<string, RequestListener> = {
    'a redirect': (_, response) => void response.writeHead(302, { location: 'https://127.0.0.1/' }).end(strict),
    'an error': (_, response) => void response.writeHead(500, { 'content-type': 'text/plain' }).end(strict),
    'a page': (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(strict),
    'too much': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      response.end(strict + 'x: y\r\n'.repeat(20_000))
    },
    nonsense: (_, response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('hello'),
    'half of it': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 1_000 })
      response.write(strict, () => response.destroy())
    },
    'no end': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      response.write(strict)
    },
    silence: () => {},
  }
  const server = await aServer(t)
  for (const [what, answer] of Object.entries(answers)) {
    const scene = await aScene(t, answer)
    assert.equal(await send(scene.transportTo(server, { timeouts: { policyMs: 400 } })), 'delivered', what)
    assert.equal(scene.fetches(), 1, what)
  }
})

test('a policy that could not be had is not asked for again for five minutes', async t => {
  const clock = steerableClock()
  const { fetches, transportTo } = await aScene(t, (_, response) => void response.writeHead(404).end())
  const transport = transportTo(await aServer(t), { clock })
  for (const [seconds, expected] of [
    [0, 1],
    [130, 1],
    [130, 1],
    [130, 2],
  ] as const) {
    clock.advance(seconds * 1_000)
    assert.equal(await send(transport), 'delivered')
    assert.equal(fetches(), expected)
  }
})

test('a policy host with a wrong certificate, or at a private address, is not listened to', async t => {
  const server = await aServer(t)
  const strict = policy('enforce', 'mx.other.test')
  for (const names of [['mta-sts.other.test'], ['*.test']]) {
    const wrong = await aScene(t, strict, await aCertificate(names, authority))
    assert.equal(await send(wrong.transportTo(server)), 'delivered')
    assert.equal(wrong.fetches(), 0)
  }
  const selfSigned = await aScene(t, strict, await aCertificate(['mta-sts.receiver.test']))
  assert.equal(await send(selfSigned.transportTo(server)), 'delivered')
  assert.equal(selfSigned.fetches(), 0)

  const forbidden = await aScene(t, strict)
  const mx = await aServer(t, { address: '127.0.0.2' })
  forbidden.dns.zone['mx.receiver.test'] = { A: ['127.0.0.2'] }
  assert.equal(await send(forbidden.transportTo(mx, { allowPrivate: cidrList(['127.0.0.2']) })), 'delivered')
  assert.equal(forbidden.connections(), 0)
})

test('a policy is remembered by its id for as long as it says, whatever becomes of DNS and its host', async t => {
  const clock = steerableClock()
  const { dns, fetches, serve, transportTo } = await aScene(t, policy('enforce', 'mx.receiver.test', 3_600))
  const transport = transportTo(await aServer(t, { tls: unknown }), { clock })
  const later = async (seconds: number): Promise<string> => {
    clock.advance(seconds * 1_000)
    return await send(transport)
  }

  assert.equal(await send(transport), 'fault tls')
  assert.equal(await later(130), 'fault tls')
  assert.equal(fetches(), 1, 'the id is the same')
  dns.zone['_mta-sts.receiver.test'] = { TXT: ['v=STSv1; id=2;'] }
  serve((_, response) => void response.writeHead(404).end())
  assert.equal(await later(130), 'fault tls')
  assert.equal(fetches(), 2, 'the id is another, and the old policy holds while the new one cannot be had')
  delete dns.zone['_mta-sts.receiver.test']
  assert.equal(await later(130), 'fault tls', 'a record that is gone takes nothing back')
  assert.equal(await later(3_600), 'delivered over TLS', 'the policy has lapsed')
})

test('a policy with a new id replaces the old one', async t => {
  const clock = steerableClock()
  const { dns, serve, transportTo } = await aScene(t, policy('enforce', 'mx.other.test'))
  const transport = transportTo(await aServer(t, { tls: mailHost }), { clock })
  assert.equal(await send(transport), 'fault tls')
  dns.zone['_mta-sts.receiver.test'] = { TXT: ['v=STSv1; id=2;'] }
  serve(policy('enforce', 'mx.receiver.test'))
  clock.advance(130_000)
  assert.equal(await send(transport), 'delivered over TLS')
})

test('a static route is the operator’s choice and heeds no policy', async t => {
  const { dns, fetches, transportTo } = await aScene(t, policy('enforce', 'mx.other.test'))
  const server = await aServer(t)
  const routes = [{ domain: '*', host: '127.0.0.1', port: server.port, auth: null }]
  assert.equal(await send(transportTo(server, { routes })), 'delivered')
  assert.equal(fetches(), 0)
  assert.deepEqual(dns.queries, [])
})
