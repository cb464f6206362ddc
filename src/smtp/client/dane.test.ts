// DANE (RFC 7672): certificates that DNS vouches for.
import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { steerableClock } from '../../../test/support/clock.ts'
import { aCertificate, anAuthority, anImpostor, type Certified } from './certificates.fixture.ts'
import type { Tlsa } from '../../platform/net/dns.ts'
import { isUsable, isVouchedFor } from './dane.ts'
import { aZone, type FakeDns, type Name } from './fake-dns.fixture.ts'
import { aServer, type FakeServer } from './fake-smtp.fixture.ts'
import { TlsPolicies } from './tls-policies.ts'
import { anEnvelope, aTransport, brief } from './transport.fixture.ts'

const authority = await anAuthority('One')
const stranger = await anAuthority('Two')
const impostor = await anImpostor('One')
const signed = await aCertificate(['mx.receiver.test'], authority)
const misnamed = await aCertificate(['mx.other.test'], authority)
const expired = await aCertificate(['mx.receiver.test'], authority, new Date('2020-01-01'))
const own = await aCertificate(['whatever.test'])

const x509 = ({ cert }: Certified): X509Certificate => new X509Certificate(cert)

function tlsa(usage: number, selector: number, matching: number, subject: Certified): Tlsa {
  const certificate = x509(subject)
  const bytes = selector === 0 ? certificate.raw : certificate.publicKey.export({ type: 'spki', format: 'der' })
  const hash = matching === 1 ? 'sha256' : 'sha512'
  const data = matching === 0 ? bytes : createHash(hash).update(bytes).digest()
  return { usage, selector, matching, data }
}

const wire = ({ usage, selector, matching, data }: Tlsa): Buffer =>
  Buffer.concat([Buffer.of(usage, selector, matching), data])

const seen = (...chain: Certified[]): Parameters<typeof isVouchedFor>[1] => ({
  chain: chain.map(x509),
  names: ['mx.receiver.test'],
  now: new Date(),
})

test('the host’s own certificate or key vouches for it in every selector and matching, whatever its name and date', () => {
  for (const selector of [0, 1]) {
    for (const matching of [0, 1, 2]) {
      const label = `3 ${selector} ${matching}`
      for (const subject of [own, signed, misnamed, expired]) {
        assert.equal(isVouchedFor([tlsa(3, selector, matching, subject)], seen(subject)), true, label)
      }
      const other: Tlsa = { ...tlsa(3, selector, matching, own), data: Buffer.alloc(32, 7) }
      assert.equal(isVouchedFor([other], seen(own)), false, label)
    }
  }
  assert.equal(isVouchedFor([tlsa(3, 0, 1, signed)], seen(misnamed)), false)
  assert.equal(isVouchedFor([tlsa(3, 0, 1, own)], { ...seen(own), chain: [] }), false)
})

test('an authority vouches for what it signed, in its name and time', () => {
  for (const selector of [0, 1]) {
    for (const matching of [0, 1, 2]) {
      const record = tlsa(2, selector, matching, authority)
      const label = `2 ${selector} ${matching}`
      assert.equal(isVouchedFor([record], seen(signed, authority)), true, label)
      assert.equal(isVouchedFor([record], seen(misnamed, authority)), false, `${label} for another name`)
      assert.equal(isVouchedFor([record], seen(expired, authority)), false, `${label} after its end`)
      assert.equal(isVouchedFor([record], seen(own, authority)), false, `${label} for what it did not sign`)
    }
  }
  assert.equal(isVouchedFor([tlsa(2, 0, 1, stranger)], seen(signed, authority)), false)
  assert.equal(isVouchedFor([tlsa(2, 0, 1, stranger)], seen(signed, stranger)), false)
  assert.equal(isVouchedFor([tlsa(2, 0, 1, impostor)], seen(signed, impostor)), false)
})

test('an authority published as a whole need not be sent along; its digest is not enough', () => {
  assert.equal(isVouchedFor([tlsa(2, 0, 0, authority)], seen(signed)), true)
  assert.equal(isVouchedFor([tlsa(2, 0, 0, stranger)], seen(signed)), false)
  assert.equal(isVouchedFor([tlsa(2, 0, 1, authority)], seen(signed)), false)
  assert.equal(
    isVouchedFor([{ ...tlsa(2, 0, 0, authority), data: Buffer.from('no certificate') }], seen(signed)),
    false,
  )
})

test('one record that fits is enough', () => {
  assert.equal(isVouchedFor([tlsa(3, 1, 1, authority), tlsa(3, 0, 2, own)], seen(own)), true)
})

test('records of other usages, selectors, matchings or lengths are not usable', () => {
  assert.equal(isUsable(tlsa(3, 1, 1, own)), true)
  assert.equal(isUsable(tlsa(2, 0, 0, own)), true)
  const odd: Partial<Tlsa>[] = [
    { usage: 0 },
    { usage: 1 },
    { usage: 4 },
    { usage: 255 },
    { selector: 2 },
    { matching: 3 },
    { matching: 2 },
    { data: Buffer.alloc(31) },
    { data: Buffer.alloc(0), matching: 0 },
  ]
  for (const fields of odd) assert.equal(isUsable({ ...tlsa(3, 1, 1, own), ...fields }), false, JSON.stringify(fields))
})

async function aDomain(t: TestContext, server: FakeServer, records: Name): Promise<FakeDns> {
  return await aZone(t, {
    'receiver.test': { MX: [[10, 'mx.receiver.test']], isSigned: true },
    'mx.receiver.test': { A: ['127.0.0.1'], isSigned: true },
    [`_${server.port}._tcp.mx.receiver.test`]: { isSigned: true, ...records },
  })
}

async function send(t: TestContext, server: FakeServer, records: Name): Promise<string> {
  const dns = await aDomain(t, server, records)
  const transport = aTransport(t, { dnsServers: [dns.server], mxPort: server.port })
  return brief((await transport.send('receiver.test', anEnvelope()))[0])
}

test('mail goes over TLS that DNS vouches for, and waits when it does not', async t => {
  const server = await aServer(t, { tls: own })
  const chained = await aServer(t, { tls: signed })
  const plain = await aServer(t)

  assert.equal(await send(t, server, { TLSA: [wire(tlsa(3, 1, 1, own))] }), 'delivered over TLS')
  assert.equal(await send(t, chained, { TLSA: [wire(tlsa(2, 0, 1, authority))] }), 'delivered over TLS')
  assert.equal(await send(t, server, { TLSA: [wire(tlsa(3, 1, 1, authority))] }), 'fault tls')
  assert.equal(await send(t, server, { TLSA: [wire(tlsa(2, 0, 1, authority))] }), 'fault tls')
  assert.equal(await send(t, plain, { TLSA: [wire(tlsa(3, 1, 1, own))] }), 'fault tls')
  assert.equal(server.messages.length, 1)
  assert.equal(plain.messages.length, 0)
})

test('records that nobody can use still demand TLS, of any kind', async t => {
  const server = await aServer(t, { tls: own })
  const plain = await aServer(t)
  const records = { TLSA: [wire(tlsa(1, 1, 1, authority))] }
  assert.equal(await send(t, server, records), 'delivered over TLS')
  assert.equal(await send(t, plain, records), 'fault tls')
})

test('records that cannot be had put mail off; a resolver that does not serve them does not', async t => {
  const server = await aServer(t)
  assert.equal(await send(t, server, { rcode: 'SERVFAIL' }), 'fault dns')
  assert.equal(await send(t, server, { rcode: 'NOTIMP' }), 'delivered')
  assert.equal(await send(t, server, { rcode: 'REFUSED' }), 'delivered')
  assert.equal(await send(t, server, {}), 'delivered')
})

test('a kept connection is not used once other records are published', async t => {
  const clock = steerableClock()
  const server = await aServer(t, { tls: own })
  const dns = await aDomain(t, server, { TLSA: [wire(tlsa(3, 1, 1, own))] })
  const transport = aTransport(t, { dnsServers: [dns.server], mxPort: server.port, clock })
  const first = await transport.send('receiver.test', anEnvelope())
  dns.zone[`_${server.port}._tcp.mx.receiver.test`] = { TLSA: [wire(tlsa(3, 1, 1, authority))], isSigned: true }
  clock.advance(121_000)
  const second = await transport.send('receiver.test', anEnvelope())
  assert.deepEqual([...first, ...second].map(brief), ['delivered over TLS', 'fault tls'])
})

test('records of a name that is not signed all the way prove nothing, and their failure puts nothing off', async t => {
  const server = await aServer(t, { tls: own })
  const plain = await aServer(t)
  const stale = { TLSA: [wire(tlsa(3, 1, 1, authority))] }
  const names = (port: number) => ['receiver.test', 'mx.receiver.test', `_${port}._tcp.mx.receiver.test`]
  for (const [index, unsigned] of names(server.port).entries()) {
    const dns = await aDomain(t, server, stale)
    dns.zone[unsigned]!.isSigned = false
    const transport = aTransport(t, { dnsServers: [dns.server], mxPort: server.port })
    assert.equal(brief((await transport.send('receiver.test', anEnvelope()))[0]), 'delivered over TLS', unsigned)
    if (index === 2) continue
    const failing = await aDomain(t, plain, { rcode: 'SERVFAIL' })
    failing.zone[unsigned]!.isSigned = false
    const other = aTransport(t, { dnsServers: [failing.server], mxPort: plain.port })
    assert.equal(brief((await other.send('receiver.test', anEnvelope()))[0]), 'delivered', unsigned)
    assert.ok(!failing.queries.some(query => query.startsWith('TLSA')))
  }
})

test('mail waits where no resolver says whether records are signed, and silence spares a host none of them', async t => {
  const server = await aServer(t, { tls: own })
  const records = `_${server.port}._tcp.mx.receiver.test`
  for (const [name, silent, outcome] of [
    [records, 'AD TLSA', 'fault dns'],
    ['receiver.test', 'AD MX', 'fault tls'],
    ['mx.receiver.test', 'AD A', 'fault tls'],
  ] as const) {
    const dns = await aDomain(t, server, { TLSA: [wire(tlsa(3, 1, 1, authority))] })
    dns.zone[name]!.silent = [silent]
    const transport = aTransport(t, { dnsServers: [dns.server], mxPort: server.port, dnsMs: 600 })
    assert.equal(brief((await transport.send('receiver.test', anEnvelope()))[0]), outcome, silent)
  }
  assert.equal(server.messages.length, 0)
})

test('a mail host that is an alias is held to the records of what it stands for, or else to its own', async t => {
  const real = await aCertificate(['real.host.test'], authority)
  const server = await aServer(t, { tls: real })
  const at = (name: string) => `_${server.port}._tcp.${name}`
  const fits = { TLSA: [wire(tlsa(2, 0, 1, authority))], isSigned: true }
  const another = { TLSA: [wire(tlsa(3, 0, 1, own))], isSigned: true }
  const cases: [records: Record<string, Name>, outcome: string][] = [
    [{ [at('real.host.test')]: fits }, 'delivered over TLS'],
    [{ [at('real.host.test')]: fits, [at('mx.receiver.test')]: another }, 'delivered over TLS'],
    [{ [at('real.host.test')]: another }, 'fault tls'],
    [{ [at('mx.receiver.test')]: another }, 'fault tls'],
    [{ [at('real.host.test')]: { ...another, isSigned: false } }, 'delivered over TLS'],
  ]
  for (const [records, outcome] of cases) {
    const dns = await aZone(t, {
      'receiver.test': { MX: [[10, 'mx.receiver.test']], isSigned: true },
      'mx.receiver.test': { CNAME: 'real.host.test', isSigned: true },
      'real.host.test': { A: ['127.0.0.1'], isSigned: true },
      ...records,
    })
    const transport = aTransport(t, { dnsServers: [dns.server], mxPort: server.port })
    assert.equal(brief((await transport.send('receiver.test', anEnvelope()))[0]), outcome, JSON.stringify(records))
  }
})

test('DANE is not asked for where the domain has not signed who takes its mail, or for a static route', async () => {
  const asked: string[] = []
  const dns = {
    tlsa: async (name: string) => {
      asked.push(name)
      return { kind: 'found' as const, values: [tlsa(3, 1, 1, own)] }
    },
    isSigned: async () => true,
    cname: async () => ({ kind: 'none' as const, isNxdomain: false }),
  }
  const hop = { key: 'k', host: 'mx.receiver.test', port: 25, isStatic: false, auth: null, preference: 0 }
  const demands = { mustVerify: false, requireTls: false }
  const policies = new TlsPolicies({ clock: steerableClock(), dns })

  assert.equal((await policies.policyFor({ ...hop, isSigned: false }, demands)).kind, 'opportunistic')
  assert.equal((await policies.policyFor({ ...hop, isStatic: true }, demands)).kind, 'opportunistic')
  assert.deepEqual(asked, [])
  assert.equal((await policies.policyFor({ ...hop, isSigned: true }, demands)).kind, 'dane')
  assert.equal((await policies.policyFor({ ...hop, isSigned: true }, { ...demands, mustVerify: true })).kind, 'dane')
  assert.deepEqual(asked, ['_25._tcp.mx.receiver.test'])
})
