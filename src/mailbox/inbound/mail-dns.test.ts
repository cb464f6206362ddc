// What one mail may ask of DNS: every type of record, within its number of questions and its time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aDnsServer } from '../../platform/net/dns.fixture.ts'
import { Dns } from '../../platform/net/dns.ts'
import { mailDns } from './mail-dns.ts'

test('records are answered as found, none or failed, and asked once while fresh', async t => {
  const server = await aDnsServer()
  t.after(() => server.close())
  server.txt('acme.example', 'v=spf1 -all')
  server.mx('acme.example', 'mx.acme.example')
  server.addresses('mx.acme.example', '192.0.2.1')
  server.breakDown('broken.example', 'SERVFAIL')
  const dns = new Dns({ servers: [server.address] })

  const resolve = mailDns(dns)
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
  assert.equal((await mailDns(dns)('acme.example', 'TXT')).kind, 'found')
  assert.equal(server.questions.length, asked)
})

test('a mail that needs too many look-ups, or too long for them, gets no more answers', async t => {
  const server = await aDnsServer()
  t.after(() => server.close())
  server.txt('acme.example', 'here')
  server.breakDown('silent.example', 'silence')
  const dns = new Dns({ servers: [server.address] })

  const few = mailDns(dns, { questionsMax: 2 })
  assert.equal((await few('acme.example', 'TXT')).kind, 'found')
  assert.equal((await few('acme.example', 'TXT')).kind, 'found')
  assert.equal((await few('acme.example', 'TXT')).kind, 'failed')

  const short = mailDns(dns, { timeoutMs: 50 })
  assert.deepEqual(await short('silent.example', 'TXT'), {
    kind: 'failed',
    code: 'TIMEOUT',
    reason: 'look-ups for the mail took too long',
  })
  assert.equal((await short('other.example', 'TXT')).kind, 'failed')
})
