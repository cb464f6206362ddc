// The texts of MTA-STS, well-formed and not; an independent reader must agree.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePolicy, resolvePolicy, validateMx } from 'mailauth/lib/mta-sts.js'
import { allowsHost, readPolicy, readPolicyId } from './mta-sts-policy.ts'

test('an id is read from exactly one well-formed record', async () => {
  const cases: [records: string[], id: string | null][] = [
    [['v=STSv1; id=20240101T000000;'], '20240101T000000'],
    [['v=STSv1;id=1'], '1'],
    [['v=STSv1 ; id=1 ; other=x'], '1'],
    [['v=spf1 -all', 'v=STSv1; id=abc;'], 'abc'],
    [['v=STSv1; id=1; id=2;'], '1'],
    [[], null],
    [['v=STSv1; id=1;', 'v=STSv1; id=1;'], null],
    [['v=STSv1'], null],
    [['v=STSv1;'], null],
    [['v=STSv1; id=;'], null],
    [['v=STSv1; id=a-b;'], null],
    [[`v=STSv1; id=${'1'.repeat(33)};`], null],
    [['v=STSv1; id=1; nonsense;'], null],
    [['v=STSv1;; id=1'], null],
    [['v=STSv2; id=1;'], null],
    [[' v=STSv1; id=1;'], null],
    [['v=stsv1; id=1;'], null],
  ]
  for (const [records, id] of cases) {
    assert.equal(readPolicyId(records), id, JSON.stringify(records))
    const resolver = async (): Promise<string[][]> => records.map(record => [record])
    const peer = await resolvePolicy('receiver.test', { resolver, strict: true }).catch(() => false)
    assert.equal(peer || null, id, `the other reader: ${JSON.stringify(records)}`)
  }
})

test('a policy is read when it is as it must be', () => {
  const good = 'version: STSv1\nmode: enforce\nmx: mx.receiver.test\nmax_age: 86400\n'
  const texts: Record<string, string | null> = {
    plain: good,
    'CRLF and blanks': 'version:STSv1\r\nmode:   enforce  \r\nmx: mx.receiver.test\r\nmax_age:\t86400',
    'several hosts': `${good}mx: *.backup.test\nMX: ignored\n`,
    'a field twice': `${good}mode: none\nmax_age: 1\n`,
    'an unknown field': `${good}new_thing: value\n`,
    'mode none without hosts': 'version: STSv1\nmode: none\nmax_age: 0\n',
    'an upper-case host': good.replace('mx.receiver', 'MX.Receiver'),
  }
  const bad: Record<string, string> = {
    nothing: '',
    'no version': good.replace('version: STSv1\n', ''),
    'another version': good.replace('STSv1', 'STSv2'),
    'no mode': good.replace('mode: enforce\n', ''),
    'another mode': good.replace('enforce', 'Enforce'),
    'no host': good.replace('mx: mx.receiver.test\n', ''),
    'no age': good.replace('max_age: 86400\n', ''),
    'a negative age': good.replace('86400', '-1'),
    'an age of a hundred years': good.replace('86400', '3155760000'),
    'a host that is none': good.replace('mx.receiver.test', 'mx receiver'),
    'an inner wildcard': good.replace('mx.receiver.test', 'mx.*.test'),
    'an empty host': good.replace('mx.receiver.test', ''),
    'a page': '<html><body>version: STSv1</body></html>',
  }
  for (const [what, text] of Object.entries(texts)) {
    const policy = readPolicy(text!)
    const peer = parsePolicy(text!, { strict: true })
    assert.ok(policy, what)
    const { mode, mx, maxAgeSeconds } = policy
    assert.deepEqual(
      { mode, mx, maxAgeSeconds },
      { mode: peer.mode, mx: peer.mx ?? [], maxAgeSeconds: peer.maxAge },
      what,
    )
  }
  for (const [what, text] of Object.entries(bad)) {
    assert.equal(readPolicy(text), null, what)
    assert.throws(() => parsePolicy(text, { strict: true }), what)
  }
})

test('a host is allowed by its name or by a wildcard for its first label', () => {
  const policy = readPolicy('version: STSv1\nmode: enforce\nmx: mx.one.test\nmx: *.two.test\nmax_age: 1\n')!
  const hosts: Record<string, boolean> = {
    'mx.one.test': true,
    'MX.One.Test': true,
    'a.two.test': true,
    'one.test': false,
    'a.mx.one.test': false,
    'two.test': false,
    'a.b.two.test': false,
    'atwo.test': false,
    test: false,
    '': false,
  }
  for (const [host, expected] of Object.entries(hosts)) {
    assert.equal(allowsHost(policy, host), expected, host)
    assert.equal(validateMx(host, { mode: 'enforce', mx: [...policy.mx] }).valid, expected, host)
  }
})
