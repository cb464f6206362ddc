// What SPF said a moment ago is not asked again, unless it could be another answer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOW, zoneResolver } from './authentication.fixture.ts'
import { RecentSpf } from './recent-spf.ts'
import { checkSpf } from './spf.ts'

const ANN = { ip: '192.0.2.1', helo: 'mx.acme.example', mailFrom: 'ann@acme.example' }

function aChecker(zone: Parameters<typeof zoneResolver>[0]) {
  const recent = new RecentSpf()
  const { resolve, questions } = zoneResolver(zone)
  return async (envelope: typeof ANN, now = NOW) => {
    const before = questions.length
    const { result, domain } = await checkSpf(envelope, { resolve, hostname: 'mx.sluice.example', now, recent })
    return { result, domain, asked: questions.length - before }
  }
}

test('the same client and domain are asked about once in ten seconds, for all their senders', async () => {
  const check = aChecker({ 'acme.example TXT': ['v=spf1 ip4:192.0.2.1 -all'] })
  assert.deepEqual(await check(ANN), { result: 'pass', domain: 'acme.example', asked: 1 })
  const bob = { ...ANN, mailFrom: 'bob@ACME.example' }
  assert.deepEqual(await check(bob), { result: 'pass', domain: 'acme.example', asked: 0 })
  assert.equal((await check({ ...ANN, ip: '192.0.2.2' })).result, 'fail')
  assert.equal((await check({ ...ANN, mailFrom: 'ann@other.example' })).result, 'none')
  assert.equal((await check(ANN, new Date(NOW.getTime() + 11_000))).asked, 1)
})

test('the greeting stands for an empty path, and is not taken for a domain that vouches for senders', async () => {
  const check = aChecker({ 'mx.acme.example TXT': ['v=spf1 ip4:192.0.2.1 -all'] })
  assert.deepEqual(await check({ ...ANN, mailFrom: '' }), { result: 'pass', domain: 'mx.acme.example', asked: 1 })
  assert.equal((await check(ANN)).result, 'none')
})

test('a policy with macros is evaluated for each sender', async () => {
  const check = aChecker({
    'acme.example TXT': ['v=spf1 exists:%{l}.ok.acme.example -all'],
    'ann.ok.acme.example A': ['127.0.0.2'],
  })
  assert.equal((await check(ANN)).result, 'pass')
  assert.equal((await check({ ...ANN, mailFrom: 'mallory@acme.example' })).result, 'fail')
})

test('what could not be looked up is asked again', async () => {
  const zone: Parameters<typeof zoneResolver>[0] = { 'acme.example TXT': 'fails' }
  const check = aChecker(zone)
  assert.equal((await check(ANN)).result, 'temperror')
  zone['acme.example TXT'] = ['v=spf1 ip4:192.0.2.1 -all']
  assert.equal((await check(ANN)).result, 'pass')

  const ofNames: typeof zone = { 'acme.example TXT': ['v=spf1 ptr -all'], '1.2.0.192.in-addr.arpa PTR': 'fails' }
  const checkNames = aChecker(ofNames)
  assert.equal((await checkNames(ANN)).result, 'fail', 'the library says so')
  ofNames['1.2.0.192.in-addr.arpa PTR'] = ['mx.acme.example']
  ofNames['mx.acme.example A'] = ['192.0.2.1']
  assert.equal((await checkNames(ANN)).result, 'pass')
})
