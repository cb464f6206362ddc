// Which host a message goes to, and what DNS can say about a domain.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { steerableClock } from '../../../test/support/clock.ts'
import { cidrList } from '../../platform/net/cidr.ts'
import { aZone, type Name } from './fake-dns.fixture.ts'
import { aServer, type Answer, type FakeServer } from './fake-smtp.fixture.ts'
import { openSession } from './open-session.ts'
import { DEFAULT_TIMEOUTS, type Failure } from './outcome.ts'
import { OPPORTUNISTIC } from './tls-policy.ts'
import { until } from '../../../test/support/eventually.ts'
import { anEnvelope, aTransport, brief, hostOf, routesTo, type TestTransport } from './transport.fixture.ts'

const MX1 = 'mx1.receiver.test'
const MX2 = 'mx2.receiver.test'

/** Two hosts of a domain, on one port and two addresses. */
const twoHosts = (preferences: [number, number] = [10, 20]): Record<string, Name> => ({
  'receiver.test': {
    MX: [
      [preferences[1], MX2],
      [preferences[0], MX1],
    ],
  },
  [MX1]: { A: ['127.0.0.1'] },
  [MX2]: { A: ['127.0.0.2'] },
})

const byMx = (server: FakeServer, dns: { server: string }): TestTransport => ({
  dnsServers: [dns.server],
  mxPort: server.port,
})

test('the MX host of the lowest preference is taken', async t => {
  const dns = await aZone(t, twoHosts())
  const first = await aServer(t)
  const second = await aServer(t, { address: '127.0.0.2', port: first.port })
  const [outcome] = await aTransport(t, byMx(first, dns)).send('receiver.test', anEnvelope())

  assert.equal(brief(outcome), 'delivered')
  assert.equal(hostOf(outcome), MX1)
  assert.equal(second.sessions.length, 0)
})

test('hosts of the same preference share the mail', async t => {
  const dns = await aZone(t, twoHosts([10, 10]))
  const first = await aServer(t)
  const second = await aServer(t, { address: '127.0.0.2', port: first.port })
  const transport = aTransport(t, byMx(first, dns))
  for (let index = 0; index < 40; index++) await transport.send('receiver.test', anEnvelope())

  assert.ok(first.messages.length > 0 && second.messages.length > 0)
  assert.equal(first.messages.length + second.messages.length, 40)
})

test('the next host is tried when one cannot be reached or is not willing, and goes first for a while', async t => {
  const clock = steerableClock()
  for (const connect of ['421 4.3.2 Not now', '554 5.3.2 Never', null]) {
    const dns = await aZone(t, twoHosts())
    const first = await aServer(t, { answers: { connect } })
    const second = await aServer(t, { address: '127.0.0.2', port: first.port })
    const timeouts = { greetingMs: 300 }
    const transport = aTransport(t, { ...byMx(first, dns), clock, messagesPerConnectionMax: 1, timeouts })
    const once = await transport.send('receiver.test', anEnvelope())
    const again = await transport.send('receiver.test', anEnvelope())

    assert.deepEqual([...once, ...again].map(brief), ['delivered', 'delivered'])
    assert.equal(hostOf(once[0]), MX2)
    assert.equal(first.sessions.length, 1, 'a host that turned us away is left alone')
    assert.equal(second.sessions.length, 2)
    clock.advance(61_000)
    await transport.send('receiver.test', anEnvelope())
    assert.equal(first.sessions.length, 2, 'after a minute it is tried again')
  }
})

test('the next host is tried when one hangs up before it has the message', async t => {
  const leave: Answer = (_, { socket }) => void socket.destroy()
  const cases: Record<string, Answer>[] = [
    { MAIL: '421 4.3.2 Closing' },
    { MAIL: leave },
    { RCPT: leave },
    { DATA: leave },
  ]
  for (const answers of cases) {
    const dns = await aZone(t, twoHosts())
    const first = await aServer(t, { answers })
    const second = await aServer(t, { address: '127.0.0.2', port: first.port })
    const [outcome] = await aTransport(t, byMx(first, dns)).send('receiver.test', anEnvelope())
    assert.equal(brief(outcome), 'delivered')
    assert.equal(hostOf(outcome), MX2)
    assert.equal(second.messages.length, 1)
  }
})

test('a host that hangs up when it has the message may have taken it: no other is tried', async t => {
  const dns = await aZone(t, twoHosts())
  const first = await aServer(t, { answers: { content: (_, { socket }) => void socket.destroy() } })
  const second = await aServer(t, { address: '127.0.0.2', port: first.port })
  const [outcome] = await aTransport(t, byMx(first, dns)).send('receiver.test', anEnvelope())
  assert.match(brief(outcome), /^fault content/)
  assert.equal(second.sessions.length, 0)
})

test('a receiver that takes two recipients at a time gets the others next', async t => {
  for (const reply of ['452 4.5.3 Too many recipients', '552 Too many recipients']) {
    let inTransaction = 0
    const answers: Record<string, Answer> = {
      MAIL: () => {
        inTransaction = 0
        return '250 Ok'
      },
      RCPT: () => ((inTransaction += 1) > 2 ? reply : '250 Ok'),
    }
    const server = await aServer(t, { answers })
    const recipients = Array.from({ length: 7 }, (_, n) => `u${n}@receiver.test`)
    const outcomes = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope({ recipients }))
    assert.deepEqual(new Set(outcomes.map(brief)), new Set(['delivered']))
    assert.deepEqual(
      server.messages.map(message => message.to.length),
      [2, 2, 2, 1],
    )
  }
})

test('who has the message does not get it again when the others cannot be sent to', async t => {
  const dns = await aZone(t, twoHosts())
  let taken = 0
  const first = await aServer(t, {
    answers: {
      connect: () => (taken === 0 ? '220 fake.test' : '421 4.3.2 Not now'),
      RCPT: () => ((taken += 1) > 1 ? '452 4.5.3 Too many recipients' : '250 Ok'),
    },
  })
  const second = await aServer(t, { address: '127.0.0.2', port: first.port })
  const transport = aTransport(t, { ...byMx(first, dns), messagesPerConnectionMax: 1 })
  const recipients = ['a@receiver.test', 'b@receiver.test']
  const outcomes = await transport.send('receiver.test', anEnvelope({ recipients }))
  assert.deepEqual(outcomes.map(brief), ['delivered', 'refused rcpt 452 4.5.3'])
  assert.deepEqual([first.messages.length, second.messages.length], [1, 0])
})

test('the next host is tried when nobody listens at the first', async t => {
  const dns = await aZone(t, twoHosts())
  const second = await aServer(t, { address: '127.0.0.2' })
  const [outcome] = await aTransport(t, byMx(second, dns)).send('receiver.test', anEnvelope())
  assert.equal(brief(outcome), 'delivered')
  assert.equal(hostOf(outcome), MX2)
})

test('when every host fails, one that may do better later decides', async t => {
  const cases: [first: string, second: string, outcome: string][] = [
    ['554 5.3.2 Never', '450 4.3.2 Later', 'refused greeting 450 4.3.2'],
    ['450 4.3.2 Later', '554 5.3.2 Never', 'refused greeting 450 4.3.2'],
    ['554 5.3.2 Never', '554 5.7.1 Blocked', 'refused greeting 554 5.3.2'],
  ]
  for (const [one, two, expected] of cases) {
    const dns = await aZone(t, twoHosts())
    const first = await aServer(t, { answers: { connect: one } })
    await aServer(t, { address: '127.0.0.2', port: first.port, answers: { connect: two } })
    const [outcome] = await aTransport(t, byMx(first, dns)).send('receiver.test', anEnvelope())
    assert.equal(brief(outcome), expected)
  }
})

test('of many hosts that do not answer only five are tried', async t => {
  const names = Array.from({ length: 9 }, (_, index) => `mx${index}.receiver.test`)
  const dns = await aZone(t, { 'receiver.test': { MX: names.map(name => [10, name]) } })
  for (const name of names) dns.zone[name] = { A: ['127.0.0.3'] }
  const [outcome] = await aTransport(t, { dnsServers: [dns.server], mxPort: 1 }).send('receiver.test', anEnvelope())

  assert.equal(brief(outcome), 'fault connect')
  assert.equal(dns.queries.filter(query => query.startsWith('A mx')).length, 5)
})

test('all addresses of a host are tried', async t => {
  const dns = await aZone(t, { 'receiver.test': { MX: [[10, MX1]] }, [MX1]: { A: ['127.0.0.1', '127.0.0.2'] } })
  const first = await aServer(t, { answers: { connect: '421 4.3.2 Not now' } })
  const second = await aServer(t, { address: '127.0.0.2', port: first.port })
  const [outcome] = await aTransport(t, byMx(first, dns)).send('receiver.test', anEnvelope())
  assert.equal(brief(outcome), 'delivered')
  assert.equal(second.messages.length, 1)
})

test('a domain without MX is its own mail host', async t => {
  const dns = await aZone(t, { 'receiver.test': { A: ['127.0.0.1'] } })
  const server = await aServer(t)
  const [outcome] = await aTransport(t, byMx(server, dns)).send('receiver.test', anEnvelope())
  assert.equal(brief(outcome), 'delivered')
  assert.equal(hostOf(outcome), 'receiver.test')
})

test('what DNS says decides whether a fault is for good', async t => {
  const LOOP = { 'receiver.test': { CNAME: 'other.test' }, 'other.test': { CNAME: 'receiver.test' } }
  const cases: [zone: Record<string, Name>, outcome: string][] = [
    [{}, 'fault! dns 5.1.2'],
    [{ 'receiver.test': {} }, 'fault! dns 5.4.4'],
    [{ 'receiver.test': { TXT: ['hello'] } }, 'fault! dns 5.4.4'],
    [{ 'receiver.test': { MX: [[0, '']], A: ['127.0.0.1'] } }, 'fault! dns 5.1.10'],
    [{ 'receiver.test': { MX: [[10, MX1]] } }, 'fault! dns 5.4.4'],
    [{ 'receiver.test': { MX: [[10, MX1]] }, [MX1]: {} }, 'fault! dns 5.4.4'],
    [{ 'receiver.test': { rcode: 'SERVFAIL' } }, 'fault dns'],
    [{ 'receiver.test': { rcode: 'REFUSED' } }, 'fault dns'],
    [{ 'receiver.test': { MX: [[10, MX1]] }, [MX1]: { rcode: 'SERVFAIL' } }, 'fault dns'],
    [{ 'receiver.test': { silent: ['MX'], A: ['127.0.0.1'] } }, 'fault dns'],
    [{ 'receiver.test': { silent: ['A'] } }, 'fault dns'],
    [LOOP, 'fault dns'],
    [{ 'receiver.test': { CNAME: 'receiver.test' } }, 'fault dns'],
    [
      { 'receiver.test': { MX: [[10, 'a.test']] }, 'a.test': { CNAME: 'b.test' }, 'b.test': { CNAME: 'a.test' } },
      'fault dns',
    ],
  ]
  await Promise.all(
    cases.map(async ([zone, expected]) => {
      const dns = await aZone(t, zone)
      const transport = aTransport(t, { dnsServers: [dns.server], dnsMs: 900 })
      const recipients = ['b@receiver.test', 'c@receiver.test']
      const outcomes = await transport.send('receiver.test', anEnvelope({ recipients }))
      assert.deepEqual(outcomes.map(brief), [expected, expected], JSON.stringify(zone))
    }),
  )
})

test('a null MX beside real ones is no refusal', async t => {
  const MX: [number, string][] = [
    [0, ''],
    [10, MX1],
  ]
  const dns = await aZone(t, { 'receiver.test': { MX }, [MX1]: { A: ['127.0.0.1'] } })
  const server = await aServer(t)
  assert.equal(brief((await aTransport(t, byMx(server, dns)).send('receiver.test', anEnvelope()))[0]), 'delivered')
})

test('MX hosts at private addresses are never connected to, and refuse for good only when there are no others', async t => {
  const dns = await aZone(t, twoHosts())
  const forbidden = await aServer(t)
  const allowed = await aServer(t, { address: '127.0.0.2', port: forbidden.port })
  const options = byMx(forbidden, dns)
  const all = await aTransport(t, { ...options, allowPrivate: cidrList([]) }).send('receiver.test', anEnvelope())
  const some = await aTransport(t, { ...options, allowPrivate: cidrList(['127.0.0.2']) }).send(
    'receiver.test',
    anEnvelope(),
  )

  assert.deepEqual(all.map(brief), ['fault! dns 5.4.4'])
  assert.match(all[0]!.kind === 'fault' ? all[0]!.reason : '', /must not be sent to/)
  assert.deepEqual(some.map(brief), ['delivered'])
  assert.equal(forbidden.sessions.length, 0)
  assert.equal(allowed.sessions.length, 1)
})

test('the address that the socket is really connected to is checked again before a word is said', async t => {
  const server = await aServer(t, { answers: { connect: null } })
  const seen: string[] = []
  const target = {
    host: MX1,
    port: server.port,
    addresses: ['127.0.0.1'],
    policy: OPPORTUNISTIC,
    auth: null,
    mayConnect: (address: string) => {
      seen.push(address)
      return false
    },
    onConnectFailed: () => {},
    onSocket: () => {},
  }
  const settings = { helloName: 'sender.test', timeouts: DEFAULT_TIMEOUTS, clock: steerableClock(), trusted: [] }
  await assert.rejects(
    openSession(target, settings),
    (failure: Failure) => failure.isPermanent && failure.phase === 'connect',
  )

  assert.deepEqual(seen, ['127.0.0.1'])
  await until(() => server.open.size === 0)
  assert.deepEqual(server.sessions[0]?.chunks ?? [], [])
})

test('a static route goes before MX, an exact domain before the star, and private addresses are allowed', async t => {
  const dns = await aZone(t, twoHosts())
  const [exact, star] = [await aServer(t), await aServer(t)]
  const routes = [
    { domain: '*', host: '127.0.0.1', port: star.port, auth: null },
    { domain: 'receiver.test', host: '127.0.0.1', port: exact.port, auth: null },
  ]
  const transport = aTransport(t, { routes, dnsServers: [dns.server], allowPrivate: cidrList([]) })
  await transport.send('receiver.test', anEnvelope())
  await transport.send('other.test', anEnvelope())

  assert.equal(exact.messages.length, 1)
  assert.equal(star.messages.length, 1)
  assert.deepEqual(dns.queries, [])
})

test('several static routes for one domain are tried in their order', async t => {
  const second = await aServer(t)
  const first = await aServer(t, { answers: { connect: '421 4.3.2 Not now' } })
  const routes = [first, second].map(({ port }) => ({ domain: '*', host: '127.0.0.1', port, auth: null }))
  const [outcome] = await aTransport(t, { routes }).send('receiver.test', anEnvelope())
  assert.equal(brief(outcome), 'delivered')
  assert.equal(first.sessions.length, 1)
})

test('a static route may be a name in DNS or one that only the machine knows; an unknown one bounces nothing', async t => {
  const dns = await aZone(t, { 'relay.test': { A: ['127.0.0.1'] } })
  const server = await aServer(t)
  for (const [host, expected] of [
    ['relay.test', 'delivered'],
    ['localhost', 'delivered'],
    ['nowhere.invalid', 'fault dns'],
  ] as const) {
    const routes = [{ domain: '*', host, port: server.port, auth: null }]
    const transport = aTransport(t, { routes, dnsServers: [dns.server], allowPrivate: cidrList([]) })
    assert.equal(brief((await transport.send('receiver.test', anEnvelope()))[0]), expected, host)
  }
})

test('IPv6 is tried first; after it failed IPv4 is preferred for a while', async t => {
  const clock = steerableClock()
  const dns = await aZone(t, { 'receiver.test': { MX: [[10, MX1]] }, [MX1]: { AAAA: ['::1'], A: ['127.0.0.1'] } })
  const four = await aServer(t)
  const transport = aTransport(t, { ...byMx(four, dns), clock, messagesPerConnectionMax: 1 })
  await transport.send('receiver.test', anEnvelope())
  assert.equal(four.messages.length, 1)
  const six = await aServer(t, { address: '::1', port: four.port })
  await transport.send('receiver.test', anEnvelope())
  assert.equal(four.messages.length, 2)
  clock.advance(61_000)
  await transport.send('receiver.test', anEnvelope())
  assert.equal(six.messages.length, 1)
})

test('look-ups are kept, for as long as they say within bounds, and shared while they run', async t => {
  const clock = steerableClock()
  const dns = await aZone(t, { 'receiver.test': { MX: [[10, MX1]] }, [MX1]: { A: ['127.0.0.1'], ttl: 5 } })
  const server = await aServer(t)
  const transport = aTransport(t, { ...byMx(server, dns), clock, messagesPerConnectionMax: 1 })
  const asked = (query: string): number => dns.queries.filter(each => each === query).length
  const send = (): Promise<unknown> => transport.send('receiver.test', anEnvelope())
  await Promise.all(Array.from({ length: 30 }, send))
  assert.deepEqual([asked('MX receiver.test'), asked(`A ${MX1}`)], [1, 1])

  clock.advance(59_000)
  await send()
  assert.deepEqual([asked('MX receiver.test'), asked(`A ${MX1}`)], [1, 1], 'five seconds count as a minute')
  clock.advance(2_000)
  dns.zone[MX1] = { A: ['127.0.0.1'], ttl: 86_400 }
  await send()
  assert.deepEqual([asked('MX receiver.test'), asked(`A ${MX1}`)], [1, 2])
  clock.advance(60_000)
  await send()
  assert.deepEqual([asked('MX receiver.test'), asked(`A ${MX1}`)], [2, 2])
  clock.advance(241_000)
  await send()
  assert.deepEqual([asked('MX receiver.test'), asked(`A ${MX1}`)], [3, 3], 'a day counts as five minutes')
})

test('an unknown domain is asked for again after half a minute', async t => {
  const clock = steerableClock()
  const dns = await aZone(t, {})
  const server = await aServer(t)
  const transport = aTransport(t, { ...byMx(server, dns), clock })
  const send = async (): Promise<string> => brief((await transport.send('receiver.test', anEnvelope()))[0])

  assert.equal(await send(), 'fault! dns 5.1.2')
  dns.zone['receiver.test'] = { A: ['127.0.0.1'] }
  clock.advance(29_000)
  assert.equal(await send(), 'fault! dns 5.1.2')
  assert.equal(dns.queries.length, 1)
  clock.advance(2_000)
  assert.equal(await send(), 'delivered')
})
