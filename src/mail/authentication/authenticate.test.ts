// SPF, DKIM, DMARC and ARC together: what a mail proves about its author, and what a failure of DNS leaves open.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sealMessage } from 'mailauth/lib/arc/index.js'
import { authenticate, type Authentication } from './authenticate.ts'
import {
  checkedWith,
  aMail,
  anEd25519Signer,
  anRsaSigner,
  signed,
  zoneResolvers,
  type Signer,
} from './authentication.fixture.ts'

let signer: Signer
before(async () => {
  signer = await anRsaSigner()
})

type Zone = Parameters<typeof zoneResolvers>[0]

const zone = (changes: Zone = {}): Zone => ({
  's1._domainkey.acme.example TXT': [signer.record],
  'acme.example TXT': ['v=spf1 ip4:192.0.2.0/24 -all'],
  '_dmarc.acme.example TXT': ['v=DMARC1; p=reject'],
  ...changes,
})

const ENVELOPE = { ip: '192.0.2.1', helo: 'mx.acme.example', mailFrom: 'ann@acme.example' }
const STRANGER = { ...ENVELOPE, ip: '203.0.113.9' }

function check(source: Buffer, records: Zone = zone(), envelope = ENVELOPE): Promise<Authentication> {
  return authenticate(source, envelope, checkedWith(zoneResolvers(records)))
}

test('a signed mail from a permitted address passes everything', async () => {
  const auth = await check(await signed(aMail(), signer))
  assert.deepEqual(auth, {
    spf: { result: 'pass', domain: 'acme.example', aligned: true },
    dkim: {
      result: 'pass',
      signatures: [{ domain: 'acme.example', selector: 's1', result: 'pass', aligned: true }],
    },
    dmarc: { result: 'pass', policy: 'reject', domain: 'acme.example' },
    arc: { result: 'none' },
  })
})

test('a tampered body is a failed signature, and DMARC fails where SPF does not vouch', async () => {
  const source = await signed(aMail(), signer)
  const tampered = Buffer.from(source.toString('latin1').replace('Hello world', 'Hello earth'), 'latin1')
  const auth = await check(tampered, zone(), STRANGER)
  assert.equal(auth.spf.result, 'fail')
  assert.equal(auth.dkim.result, 'fail')
  assert.deepEqual(auth.dmarc, { result: 'fail', policy: 'reject', domain: 'acme.example' })
})

test('of several signatures one that passes and is aligned suffices, and at most ten are looked at', async () => {
  const ed25519 = anEd25519Signer()
  const records = zone({
    's2._domainkey.acme.example TXT': [ed25519.record],
    's3._domainkey.other.example TXT': [signer.record],
  })
  const twice = await signed(await signed(aMail(), signer), signer, 'other.example', 's3')
  const auth = await check(twice, records, STRANGER)
  assert.deepEqual(
    auth.dkim.signatures.map(({ domain, result, aligned }) => [domain, result, aligned]),
    [
      ['other.example', 'pass', false],
      ['acme.example', 'pass', true],
    ],
  )
  assert.equal(auth.dmarc.result, 'pass')

  const field = (await signed(aMail(), signer)).toString('latin1').split(/^From:/m)[0]!
  const many = Buffer.concat([Buffer.from(field.repeat(30), 'latin1'), aMail()])
  assert.equal((await check(many)).dkim.signatures.length, 10)
})

test('alignment is relaxed by organisational domain, or strict where the policy says so', async () => {
  const source = await signed(aMail('Hi\r\n', 'Ann <ann@news.acme.example>'), signer)
  assert.equal((await check(source, zone(), STRANGER)).dmarc.result, 'pass')
  const strict = zone({ '_dmarc.acme.example TXT': ['v=DMARC1; p=quarantine; adkim=s; aspf=s'] })
  const auth = await check(source, strict)
  assert.deepEqual(auth.dmarc, { result: 'fail', policy: 'quarantine', domain: 'news.acme.example' })
  assert.equal(auth.spf.aligned, false)
  assert.equal(auth.dkim.signatures[0]!.aligned, false)
})

test('a domain without a policy gives none, and says whether its proofs are aligned', async () => {
  const source = await signed(aMail(), signer)
  const records = zone()
  delete records['_dmarc.acme.example TXT']
  const own = await check(source, records)
  assert.deepEqual(own.dmarc, { result: 'none', policy: null, domain: 'acme.example' })
  assert.deepEqual([own.spf.aligned, own.dkim.signatures[0]!.aligned], [true, true])
  const foreign = await check(aMail('x\r\n', 'ann@bank.example'), records)
  assert.equal(foreign.spf.aligned, false)
})

test('a temporary failure of DNS is a temporary error everywhere, and never a failure', async () => {
  const source = await signed(aMail(), signer)
  const noKey = await check(source, zone({ 's1._domainkey.acme.example TXT': 'fails' }), STRANGER)
  assert.deepEqual([noKey.dkim.result, noKey.dmarc.result], ['temperror', 'temperror'])
  const noSpf = await check(aMail(), zone({ 'acme.example TXT': 'fails' }))
  assert.deepEqual([noSpf.spf.result, noSpf.dmarc.result], ['temperror', 'temperror'])
  const noPolicy = await check(source, zone({ '_dmarc.acme.example TXT': 'fails' }))
  assert.equal(noPolicy.dmarc.result, 'temperror')
  const spfAlone = await check(source, zone({ 's1._domainkey.acme.example TXT': 'fails' }))
  assert.equal(spfAlone.dmarc.result, 'pass')
})

test('no author, several authors or several From fields can be vouched for by nobody', async () => {
  const text = aMail().toString('latin1')
  const none = Buffer.from(text.replace(/^From:.*\r\n/, ''), 'latin1')
  const twice = Buffer.from(`From: eve@evil.example\r\n${text}`, 'latin1')
  const two = aMail('x\r\n', 'ann@acme.example, eve@evil.example')
  for (const source of [none, twice, two]) {
    const auth = await check(source)
    assert.deepEqual(auth.dmarc, { result: 'permerror', policy: null, domain: null })
  }
  const encoded = await check(aMail('x\r\n', '=?utf-8?q?=22ann=40acme.example=22?= <eve@evil.example>'))
  assert.equal(encoded.dmarc.domain, 'evil.example')
})

test('SPF stops at ten look-ups and at two that find nothing', async () => {
  const includes = Array.from({ length: 11 }, (_, n) => `include:s${n}.acme.example`)
  const records = zone({ 'acme.example TXT': [`v=spf1 ${includes.join(' ')} -all`] })
  for (const n of includes.keys()) records[`s${n}.acme.example TXT`] = ['v=spf1 ip4:198.51.100.1 -all']
  assert.equal((await check(aMail(), records)).spf.result, 'permerror')
  const voids = zone({
    'acme.example TXT': ['v=spf1 a:x.acme.example a:y.acme.example a:z.acme.example ip4:192.0.2.1 -all'],
  })
  assert.equal((await check(aMail(), voids)).spf.result, 'permerror')
  const mx = zone({
    'acme.example TXT': ['v=spf1 mx -all'],
    'acme.example MX': [{ host: 'mx.acme.example', priority: 10 }],
    'mx.acme.example A': ['192.0.2.1'],
  })
  assert.equal((await check(aMail(), mx)).spf.result, 'pass')
})

test('the null path is judged by the greeting', async () => {
  const records = zone({ 'mx.acme.example TXT': ['v=spf1 ip4:192.0.2.1 -all'] })
  const auth = await check(aMail(), records, { ...ENVELOPE, mailFrom: '' })
  assert.deepEqual(auth.spf, { result: 'pass', domain: 'mx.acme.example', aligned: true })
  const literal = await check(aMail(), zone(), { ...ENVELOPE, helo: '[192.0.2.1]', mailFrom: '' })
  assert.equal(literal.spf.result, 'none')
})

test('a seal of a forwarder is verified, and a broken or half-known one is told apart', async () => {
  const source = await signed(aMail(), signer)
  const privateKey = signer.key.export({ type: 'pkcs8', format: 'pem' }).toString()
  const seal = {
    signingDomain: 'list.example',
    selector: 'arc',
    privateKey,
    authResults: 'list.example; dkim=pass',
    cv: 'none',
  }
  const headers = await sealMessage(source, seal as never)
  const records = zone({ 'arc._domainkey.list.example TXT': [signer.record] })
  const sealed = Buffer.concat([headers, source])
  assert.equal((await check(sealed, records)).arc.result, 'pass')
  const broken = Buffer.from(sealed.toString('latin1').replace('Hello world', 'Hello earth'), 'latin1')
  assert.equal((await check(broken, records)).arc.result, 'fail')
  const forged = Buffer.from(
    sealed.toString('latin1').replace('list.example; dkim=pass', 'list.example; dkim=fail'),
    'latin1',
  )
  assert.equal((await check(forged, records)).arc.result, 'fail')
  assert.equal(
    (await check(sealed, { ...records, 'arc._domainkey.list.example TXT': 'fails' })).arc.result,
    'temperror',
  )
  const huge = Buffer.concat([Buffer.from(`ARC-Seal: i=1; x=${'a'.repeat(70_000)}\r\n`), sealed])
  assert.equal((await check(huge, records)).arc.result, 'fail')
})

test('a header too long to be checked, and one that is garbage, prove nothing and throw nothing', async () => {
  const long = Buffer.concat([Buffer.from(`X-Pad: ${'a'.repeat(300_000)}\r\n`), await signed(aMail(), signer)])
  assert.equal((await check(long)).dmarc.result, 'permerror')
  for (const text of ['', '\r\n', ':\r\n:\r\n\r\n', 'DKIM-Signature: ;;;=\r\nFrom: a@b\r\n\r\n', '\0\xff\r\n\r\n']) {
    assert.notEqual((await check(Buffer.from(text, 'latin1'))).dmarc.result, 'pass')
  }
})
