// What one mail may ask of DNS: every type of record, within its number of questions and its time; and what a sender who
// uses these up gains by it, which is nothing.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { authenticate, type Authentication } from '../../mail/authentication/authenticate.ts'
import { aMail, anRsaSigner, checkedWith, signed } from '../../mail/authentication/authentication.fixture.ts'
import type { Resolvers } from '../../mail/authentication/resolve.ts'
import { aDnsServer, type FakeDns } from '../../platform/net/dns.fixture.ts'
import { Dns } from '../../platform/net/dns.ts'
import { judge } from '../shield/judge.ts'
import { mailDns } from './mail-dns.ts'

test('records are answered as found, none or failed, and asked once while fresh', async t => {
  const server = await aDnsServer()
  t.after(() => server.close())
  server.txt('acme.example', 'v=spf1 -all')
  server.mx('acme.example', 'mx.acme.example')
  server.addresses('mx.acme.example', '192.0.2.1')
  server.breakDown('broken.example', 'SERVFAIL')
  const dns = new Dns({ servers: [server.address] })

  const { spf: resolve } = mailDns(dns)
  assert.deepEqual(await resolve('acme.example', 'TXT'), { kind: 'found', values: ['v=spf1 -all'] })
  assert.deepEqual(await resolve('acme.example', 'MX'), {
    kind: 'found',
    values: [{ host: 'mx.acme.example', priority: 10 }],
  })
  assert.deepEqual(await resolve('mx.acme.example', 'A'), { kind: 'found', values: ['192.0.2.1'] })
  assert.deepEqual(await resolve('mx.acme.example', 'AAAA'), { kind: 'none', isNxdomain: false })
  assert.deepEqual(await resolve('1.2.0.192.in-addr.arpa', 'PTR'), { kind: 'none', isNxdomain: true })
  assert.equal((await resolve('broken.example', 'TXT')).kind, 'failed')
  assert.equal((await resolve('..', 'TXT')).kind, 'none')

  const asked = server.questions.length
  assert.equal((await mailDns(dns).spf('acme.example', 'TXT')).kind, 'found')
  assert.equal(server.questions.length, asked)
})

test('a mail that needs too many look-ups, or too long for them, gets no more answers', async t => {
  const server = await aDnsServer()
  t.after(() => server.close())
  server.txt('acme.example', 'here')
  server.breakDown('silent.example', 'silence')
  const dns = new Dns({ servers: [server.address] })

  const few = mailDns(dns, { questionsMax: 2 })
  assert.equal((await few.spf('acme.example', 'TXT')).kind, 'found')
  assert.equal((await few.spf('acme.example', 'TXT')).kind, 'found')
  assert.equal((await few.spf('acme.example', 'TXT')).kind, 'limited')
  assert.equal((await few.keys('acme.example', 'TXT')).kind, 'found', 'each check has limits of its own')
  assert.equal((await few.dmarc('acme.example', 'TXT')).kind, 'found')

  const short = mailDns(dns, { timeoutMs: 50 })
  assert.equal((await short.spf('silent.example', 'TXT')).kind, 'limited')
  assert.equal((await short.spf('other.example', 'TXT')).kind, 'limited')
  assert.deepEqual(await short.dmarc('silent.example', 'TXT'), {
    kind: 'failed',
    code: 'TIMEOUT',
    reason: 'look-ups for the mail took too long',
  })
})

test('time that passes while the resolver answers nobody is not the fault of the sender', async t => {
  const server = await aDnsServer()
  t.after(() => server.close())
  for (const name of ['first.example', 'second.example']) server.breakDown(name, 'silence')
  const dns = new Dns({ servers: [server.address], timeoutMs: 100 })
  assert.equal((await dns.txt('first.example')).kind, 'failed')
  assert.equal(dns.isSilent, true)
  assert.equal((await mailDns(dns, { timeoutMs: 20 }).spf('second.example', 'TXT')).kind, 'failed')
})

const POLICY = { shield_mode: 'enforce', block_unauthenticated: true, allow_senders: [], block_senders: [] } as const
const STRANGER = { ip: '203.0.113.9', helo: 'mx.evil.example', mailFrom: 'x@evil.example' }
const SHORT_MS = 200

/** Who is proven to have sent it, and whether an inbox that asks for proof blocks it. */
async function receive(source: Buffer, resolvers: Resolvers, envelope = STRANGER) {
  const auth: Authentication = await authenticate(source, envelope, checkedWith(resolvers))
  const { blocked } = judge({
    findings: [],
    auth,
    from: { name: '', address: 'ceo@bank.example' },
    senders: ['ceo@bank.example'],
    inbox: { address: 'inbox@northwind.example', policy: POLICY },
    correspondents: [],
  })
  return { spf: auth.spf.result, dkim: auth.dkim.result, dmarc: auth.dmarc.result, blocked }
}

const forged = (): Buffer => aMail('Pay at once.\r\n', 'ceo@bank.example')

async function aBank(t: TestContext): Promise<{ server: FakeDns; dns: Dns }> {
  const server = await aDnsServer()
  t.after(() => server.close())
  server.txt('_dmarc.bank.example', 'v=DMARC1; p=reject')
  return { server, dns: new Dns({ servers: [server.address] }) }
}

test('an SPF record with more look-ups than a mail may leaves a forged author failed, and blocked', async t => {
  const { server, dns } = await aBank(t)
  const numbers = Array.from({ length: 10 }, (_, n) => n)
  server.txt('evil.example', `v=spf1 ${numbers.map(n => `mx:${n}.evil.example`).join(' ')} -all`)
  for (const n of numbers) server.mx(`${n}.evil.example`, ...numbers.map(host => `h${host}.${n}.evil.example`))
  assert.deepEqual(await receive(forged(), mailDns(dns)), {
    spf: 'permerror',
    dkim: 'none',
    dmarc: 'fail',
    blocked: true,
  })
  assert.ok(server.questions.length <= 80, `${server.questions.length} questions`)
})

test('name servers of the sender that take all the time leave a forged author failed, and blocked', async t => {
  const { server, dns } = await aBank(t)
  server.txt('evil.example', 'v=spf1 include:slow.evil.example -all')
  server.breakDown('slow.evil.example', 'silence')
  server.breakDown('s1._domainkey.evil.example', 'silence')
  const source = await signed(forged(), await anRsaSigner(), 'evil.example')
  assert.deepEqual(await receive(source, mailDns(dns, { timeoutMs: SHORT_MS })), {
    spf: 'permerror',
    dkim: 'permerror',
    dmarc: 'fail',
    blocked: true,
  })
})

test('a sender in the name of the author gains nothing by slow name servers of the client address', async t => {
  const { server, dns } = await aBank(t)
  server.txt('bank.example', 'v=spf1 ptr include:other.bank.example -all')
  server.txt('other.bank.example', 'v=spf1 a:mx.bank.example -all')
  server.breakDown('9.113.0.203.in-addr.arpa', 'silence')
  const envelope = { ...STRANGER, mailFrom: 'ceo@bank.example' }
  const { dmarc, blocked } = await receive(forged(), mailDns(dns, { timeoutMs: SHORT_MS }), envelope)
  assert.deepEqual([dmarc, blocked], ['fail', true])
})

test('slow name servers of a forwarder take no time from the signature of the author', async t => {
  const { server, dns } = await aBank(t)
  const signer = await anRsaSigner()
  server.txt('evil.example', 'v=spf1 include:slow.evil.example -all')
  for (const name of ['slow.evil.example', 's1._domainkey.evil.example']) server.breakDown(name, 'silence')
  server.txt('s1._domainkey.bank.example', signer.record)
  const twice = await signed(await signed(forged(), signer, 'bank.example'), signer, 'evil.example')
  const { dmarc, blocked } = await receive(twice, mailDns(dns, { timeoutMs: SHORT_MS }))
  assert.deepEqual([dmarc, blocked], ['pass', false])
})

test('a policy of the author that cannot be looked up now stays open, and blocks nothing', async t => {
  for (const fault of ['SERVFAIL', 'silence'] as const) {
    const { server, dns } = await aBank(t)
    server.txt('evil.example', 'v=spf1 -all')
    server.breakDown('_dmarc.bank.example', fault)
    const { dmarc, blocked } = await receive(forged(), mailDns(dns, { timeoutMs: SHORT_MS }))
    assert.deepEqual([dmarc, blocked], ['temperror', false], fault)
  }
})
