// Found, none, or not to be had now: the three kinds of answer, from a real server.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aDnsServer, type FakeDns } from './dns.fixture.ts'
import { Dns } from './dns.ts'

let server: FakeDns
let dns: Dns

before(async () => {
  server = await aDnsServer()
  dns = new Dns({ servers: [server.address], timeoutMs: 300 })
})

after(() => server.close())

test('the strings of a TXT record are joined, and several records stay apart', async () => {
  server.txt('joined.example.com', ['v=DKIM1; ', 'k=rsa; ', 'p=abc'], 'another')
  const answer = await dns.txt('joined.example.com')
  assert.equal(answer.kind, 'found')
  assert.deepEqual(answer.kind === 'found' && answer.values.toSorted(), ['another', 'v=DKIM1; k=rsa; p=abc'])
})

test('aliases and mail hosts come in lower case, the preferred host first', async () => {
  server.cname('bounce.hosts.example.com', 'Bounce.Example.NET')
  server.mx('hosts.example.com', 'MX1.Example.net', 'mx2.example.net')
  assert.deepEqual(await dns.cname('bounce.hosts.example.com'), { kind: 'found', values: ['bounce.example.net'] })
  assert.deepEqual(await dns.mx('hosts.example.com'), {
    kind: 'found',
    values: [
      { host: 'mx1.example.net', priority: 10 },
      { host: 'mx2.example.net', priority: 20 },
    ],
  })
})

test('no such name, no such record and a name that cannot exist are none', async () => {
  server.txt('texts-only.example.com', 'x')
  assert.deepEqual(await dns.txt('nowhere.example.com'), { kind: 'none', isNxdomain: true })
  assert.deepEqual(await dns.mx('texts-only.example.com'), { kind: 'none', isNxdomain: false })
  for (const long of [`${'a'.repeat(64)}.example.com`, `${'ab.'.repeat(84)}cd`, `${'ab.'.repeat(84)}cde`]) {
    assert.deepEqual(await dns.txt(long), { kind: 'none', isNxdomain: true }, `${long.length}`)
  }
})

test('SERVFAIL, REFUSED, silence and nobody listening are failures, within the time given', async () => {
  server.breakDown('broken.example.com', 'SERVFAIL')
  server.breakDown('closed.example.com', 'REFUSED')
  server.breakDown('silent.example.com', 'silence')
  const begun = performance.now()
  assert.partialDeepStrictEqual(await dns.txt('broken.example.com'), { kind: 'failed', code: 'SERVFAIL' })
  assert.partialDeepStrictEqual(await dns.txt('closed.example.com'), { kind: 'failed', code: 'REFUSED' })
  assert.partialDeepStrictEqual(await dns.txt('silent.example.com'), { kind: 'failed', code: 'TIMEOUT' })
  assert.equal((await new Dns({ servers: ['127.0.0.1:1'], timeoutMs: 300 }).txt('example.com')).kind, 'failed')
  assert.ok(performance.now() - begun < 2_000)
})

test('an answer is signed where the resolver says so, also of what is not there or does not fit a datagram', async () => {
  server.mx('plain.example.com', 'mx.example.net')
  server.mx('signed.example.com', 'mx.example.net')
  server.mx('long.example.com', ...Array.from({ length: 100 }, (_, n) => `a-mail-host-with-number-${n}.example.net`))
  for (const name of ['signed.example.com', 'long.example.com', 'absent.example.com', 'failing.example.com']) {
    server.sign(name)
  }
  server.breakDown('failing.example.com', 'SERVFAIL')
  server.breakDown('mute.example.com', 'silence')
  assert.equal(await dns.isSigned('plain.example.com', 'MX'), false)
  assert.equal(await dns.isSigned('signed.example.com', 'MX'), true)
  assert.equal(await dns.isSigned('signed.example.com', 'A'), true)
  assert.equal(await dns.isSigned('absent.example.com', 'TLSA'), true)
  assert.equal(await dns.isSigned('long.example.com', 'MX'), true)
  // What the resolver is still asked for another test is not looked at.
  const questions = server.questions.filter(question => question.startsWith('long.'))
  assert.deepEqual(questions, ['long.example.com 15', 'long.example.com 15'])
  for (const name of ['failing.example.com', 'mute.example.com'])
    assert.equal(await dns.isSigned(name, 'MX'), null, name)
  for (const name of ['a..b', '']) assert.equal(await dns.isSigned(name, 'MX'), false, name)
  server.mend('failing.example.com')
  const away = new Dns({ servers: ['127.0.0.1:1', server.address], timeoutMs: 2_000 })
  assert.equal(await away.isSigned('failing.example.com', 'MX'), true)
  assert.equal(await new Dns({ servers: [] }).isSigned('signed.example.com', 'MX'), false)
})

test('answers are not kept: what is published now is found now', async () => {
  assert.deepEqual(await dns.txt('changing.example.com'), { kind: 'none', isNxdomain: true })
  server.txt('changing.example.com', 'one')
  assert.deepEqual(await dns.txt('changing.example.com'), { kind: 'found', values: ['one'] })
  server.remove('changing.example.com')
  server.txt('changing.example.com', 'two')
  assert.deepEqual(await dns.txt('changing.example.com'), { kind: 'found', values: ['two'] })
})

test('a resolver that never answered is silent, and one that answers is not, whatever single names do', async () => {
  const away = new Dns({ servers: ['127.0.0.1:1'], timeoutMs: 300 })
  assert.equal(away.isSilent, false, 'nobody has asked')
  await away.txt('example.com')
  assert.equal(away.isSilent, true)
  server.breakDown('broken.example', 'SERVFAIL')
  await dns.txt('none.example')
  await dns.txt('broken.example')
  assert.equal(dns.isSilent, false)
})
