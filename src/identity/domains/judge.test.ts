// Each record in every state it can be found in.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeCname, judgeDkim, judgeDmarc, judgeMx, judgeSpf, spfReferences } from './judge.ts'

const HOST = 'spf.sluice.test'

test('SPF: an existing record that includes our host passes, whatever else it says', () => {
  const cases: [string[], string][] = [
    [[], 'missing'],
    [['google-site-verification=x', 'v=spf10 include:spf.sluice.test ~all'], 'missing'],
    [['v=spf1 include:spf.sluice.test ~all'], 'ok'],
    [['other', 'v=spf1 ip4:192.0.2.1 +include:SPF.sluice.test. include:example.net -all'], 'ok'],
    [['V=SPF1  a mx   include:spf.sluice.test'], 'ok'],
    [['v=spf1 ip4:192.0.2.1 -all'], 'wrong'],
    [['v=spf1'], 'wrong'],
    [['v=spf1 -include:spf.sluice.test ~all'], 'wrong'],
    [['v=spf1 ?include:spf.sluice.test ~all'], 'wrong'],
    [['v=spf1 include:spf.sluice.test.example.net ~all'], 'wrong'],
    [['v=spf1 include:evil-spf.sluice.test ~all'], 'wrong'],
    [['v=spf1 -all include:spf.sluice.test'], 'wrong'],
    [['v=spf1 include:spf.sluice.test ~all', 'v=spf1 include:example.net ~all'], 'wrong'],
  ]
  for (const [texts, state] of cases) assert.equal(judgeSpf(texts, HOST).state, state, texts.join(' | '))
})

test('SPF: what counts as part of a record is what it includes before its all, and a redirect where there is no all', () => {
  const cases: [string, string[]][] = [
    [
      'v=spf1 include:a.example +include:B.example. -include:c.example ~include:d.example ~all',
      ['a.example', 'b.example'],
    ],
    ['v=spf1 include:a.example -all include:b.example redirect=c.example', ['a.example']],
    ['v=spf1 include:a.example redirect=c.example.', ['a.example', 'c.example']],
    ['v=spf1', []],
  ]
  for (const [text, names] of cases) assert.deepEqual(spfReferences(['other', text]), names, text)
  assert.deepEqual(spfReferences(['v=spf1 include:a.example', 'v=spf1 include:b.example']), [])
})

test('SPF: only SPF records are shown as found', () => {
  assert.deepEqual(judgeSpf(['secret-token=1', 'v=spf1 -all'], HOST).found, ['v=spf1 -all'])
})

test('DKIM: compared by the key, in any spacing', () => {
  const cases: [string[], string][] = [
    [[], 'missing'],
    [['v=DKIM1; k=rsa; p=AbC+/='], 'ok'],
    [['p=AbC+/='], 'ok'],
    [['k=rsa;v=DKIM1 ; t=s; p= Ab\tC +/= ;'], 'ok'],
    [['note to self', 'v=DKIM1; p=AbC+/='], 'ok'],
    [['v=DKIM1; k=rsa; p=abc+/='], 'wrong'],
    [['v=DKIM1; k=rsa; p='], 'wrong'],
    [['v=DKIM2; p=AbC+/='], 'wrong'],
    [['"v=DKIM1; q=AbC+/="'], 'wrong'],
    [['v=DKIM1; p=AbC+/=', 'v=DKIM1; p=other'], 'wrong'],
  ]
  for (const [texts, state] of cases) assert.equal(judgeDkim(texts, 'AbC+/=').state, state, texts.join(' | '))
})

test('DMARC: any valid record passes', () => {
  const cases: [string[], string][] = [
    [[], 'missing'],
    [['v=DMARC1; p=none; rua=mailto:a@example.com'], 'ok'],
    [['v=DMARC1;p=reject'], 'ok'],
    [['v = DMARC1 ; sp=none; p = Quarantine'], 'ok'],
    [['v=DMARC1'], 'wrong'],
    [['v=DMARC1; p=maybe'], 'wrong'],
    [['v=DMARC10; p=none'], 'wrong'],
    [['p=none; v=DMARC1'], 'wrong'],
    [['v=DMARC1; p=none', 'v=DMARC1; p=reject'], 'wrong'],
  ]
  for (const [texts, state] of cases) assert.equal(judgeDmarc(texts).state, state, texts.join(' | '))
})

test('the return path must be our alias, and MX must name our host among any others', () => {
  assert.equal(judgeCname([], 'bounce.sluice.test').state, 'missing')
  assert.equal(judgeCname(['bounce.sluice.test'], 'bounce.sluice.test').state, 'ok')
  assert.equal(judgeCname(['bounce.example.net'], 'bounce.sluice.test').state, 'wrong')
  const mx = (...hosts: string[]) =>
    judgeMx(
      hosts.map((host, index) => ({ host, priority: index })),
      'mx.sluice.test',
    )
  assert.equal(mx().state, 'missing')
  assert.equal(mx('spare.example.com', 'mx.sluice.test').state, 'ok')
  assert.equal(mx('').state, 'wrong')
  assert.deepEqual(mx('mail.example.com'), {
    state: 'wrong',
    found: ['0 mail.example.com'],
    problem: 'Mail for this name goes elsewhere. Add an MX record with mx.sluice.test.',
  })
})

test('what is not ok says what to do', () => {
  for (const verdict of [judgeSpf([], HOST), judgeSpf(['v=spf1'], HOST), judgeDkim(['x'], 'k'), judgeDmarc(['x'])]) {
    assert.ok(verdict.problem)
  }
  assert.equal(judgeSpf([`v=spf1 include:${HOST}`], HOST).problem, null)
})
