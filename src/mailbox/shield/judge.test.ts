// The verdict by mode, by the owner's lists and by what the sender has proven.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authentication } from '../../mail/authentication/authenticate.ts'
import { finding, type Finding } from './finding.ts'
import { judge, type Shield } from './judge.ts'

type Result = Authentication['dmarc']['result']

const auth = (result: Result, aligned = result === 'pass'): Authentication => ({
  spf: { result: aligned ? 'pass' : 'none', domain: 'acme.example', aligned },
  dkim: { result: 'none', signatures: [] },
  dmarc: { result, policy: result === 'none' ? null : 'reject', domain: 'acme.example' },
  arc: { result: 'none' },
})

const OFF = { shield_mode: 'off', block_unauthenticated: false, allow_senders: [], block_senders: [] } as const
const OBSERVE = { ...OFF, shield_mode: 'observe' } as const
const ENFORCE = { ...OFF, shield_mode: 'enforce' } as const

type Policy = Parameters<typeof judge>[0]['inbox']['policy']

const verdict = (
  policy: Policy,
  proven: Authentication,
  findings: Finding[] = [],
  address = 'ann@acme.example',
): Shield =>
  judge({
    findings,
    auth: proven,
    from: { name: 'Ann', address },
    senders: [address],
    inbox: { address: 'inbox@northwind.example', policy },
    correspondents: [],
  })

const ORDER = finding('instructions', 'text', 'an order')
const summary = ({ verdict: said, blocked, tainted, reasons }: Shield) => [
  said,
  blocked,
  tainted,
  reasons.map(({ kind }) => kind),
]

test('a proven mail without findings is clean in every mode', () => {
  for (const policy of [OFF, OBSERVE, ENFORCE]) {
    assert.deepEqual(summary(verdict(policy, auth('pass'))), ['clean', false, false, []])
  }
})

test('off reports nothing, observe records, enforce blocks', () => {
  assert.deepEqual(summary(verdict(OFF, auth('pass'), [ORDER])), ['clean', false, false, []])
  assert.deepEqual(summary(verdict(OBSERVE, auth('pass'), [ORDER])), ['suspicious', false, true, ['instructions']])
  assert.deepEqual(summary(verdict(ENFORCE, auth('pass'), [ORDER])), ['blocked', true, true, ['instructions']])
})

test('what blocks and what taints', () => {
  const table: [Finding['kind'], boolean, boolean][] = [
    ['instructions', true, true],
    ['lookalike_sender', true, true],
    ['dangerous_attachment', true, false],
    ['hidden_text', false, true],
    ['reply_to_mismatch', false, false],
  ]
  for (const [kind, blocks, taints] of table) {
    const { verdict: said, blocked, tainted } = verdict(ENFORCE, auth('pass'), [finding(kind, 'text', 'seen')])
    assert.deepEqual([said, blocked, tainted], [blocks ? 'blocked' : 'suspicious', blocks, taints], kind)
  }
})

test('block_senders acts in every mode, for addresses, domains and what is below them', () => {
  for (const entry of ['ann@acme.example', 'ANN@Acme.example', 'acme.example', '@acme.example']) {
    for (const policy of [OFF, OBSERVE, ENFORCE]) {
      const said = verdict({ ...policy, block_senders: [entry], allow_senders: ['acme.example'] }, auth('pass'))
      assert.deepEqual(summary(said), ['blocked', true, true, ['blocked_sender']], entry)
    }
  }
  assert.equal(
    verdict({ ...OFF, block_senders: ['acme.example'] }, auth('pass'), [], 'x@mail.acme.example').blocked,
    true,
  )
  assert.equal(
    verdict({ ...OFF, block_senders: ['acme.example'] }, auth('pass'), [], 'x@notacme.example').blocked,
    false,
  )
})

test('an entry acts on every spelling of the address that it names', () => {
  const policy = { ...OFF, block_senders: ['bad@evil.test', 'a@xn--mnchen-3ya.de', 'xn--bcher-kva.example'] }
  const spellings = [
    'bad@evil.test.',
    '"bad"@evil.test',
    'BAD@Evil.Test',
    'a@münchen.de',
    'a@MÜNCHEN.DE.',
    'a@mu\u0308nchen.de',
    'x@bücher.example',
    'x@shop.Bücher.example',
    'x y@bücher.example',
  ]
  for (const address of spellings) assert.equal(verdict(policy, auth('pass'), [], address).blocked, true, address)
  for (const address of ['good@evil.test', 'b@münchen.de', 'x@bucher.example'])
    assert.equal(verdict(policy, auth('pass'), [], address).blocked, false, address)
})

test('an allowed sender is believed only when its domain is proven', () => {
  const policy = { ...ENFORCE, allow_senders: ['acme.example'], block_unauthenticated: true }
  assert.deepEqual(summary(verdict(policy, auth('pass'), [ORDER])), ['clean', false, false, []])
  assert.deepEqual(summary(verdict(policy, auth('none', true), [ORDER])), ['clean', false, false, []])
  for (const result of ['fail', 'none', 'temperror', 'permerror'] as const) {
    assert.equal(verdict(policy, auth(result), [ORDER]).blocked, true, result)
  }
})

test('a lack of authentication taints; it is suspicious when DMARC fails, and blocked where the owner wants that', () => {
  assert.deepEqual(summary(verdict(OBSERVE, auth('none'))), ['clean', false, true, []])
  assert.deepEqual(summary(verdict(OBSERVE, auth('none', true))), ['clean', false, false, []])
  assert.deepEqual(summary(verdict(OBSERVE, auth('fail'))), ['suspicious', false, true, ['unauthenticated']])
  assert.deepEqual(summary(verdict(OFF, auth('fail'))), ['clean', false, true, []])
  const strict = { ...ENFORCE, block_unauthenticated: true }
  assert.deepEqual(summary(verdict(strict, auth('fail'))), ['blocked', true, true, ['unauthenticated']])
  assert.deepEqual(summary(verdict(strict, auth('none'))), ['blocked', true, true, ['unauthenticated']])
  assert.deepEqual(summary(verdict(strict, auth('none', true))), ['clean', false, false, []])
  // A failure of DNS proves nothing against the sender.
  assert.deepEqual(summary(verdict(strict, auth('temperror'))), ['clean', false, true, []])
  assert.match(
    verdict(strict, auth('fail')).reasons[0]!.detail,
    /acme\.example is not proven: spf=none dkim=none dmarc=fail/,
  )
})

test('a domain that looks like the own one or a known one is a look-alike', () => {
  assert.equal(verdict(ENFORCE, auth('pass'), [], 'x@n0rthwind.example').reasons[0]?.kind, 'lookalike_sender')
  const nobody = judge({
    findings: [],
    auth: auth('permerror'),
    from: null,
    senders: [],
    inbox: { address: 'inbox@northwind.example', policy: OBSERVE },
    correspondents: [],
  })
  assert.equal(nobody.verdict, 'suspicious')
})
