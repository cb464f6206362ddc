// The author whom DMARC checks is the one whom the reader is shown, however From is written.
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { parseMail } from '../mime/parse.ts'
import { authenticate, type Authentication } from './authenticate.ts'
import { checkedWith, zoneResolvers } from './authentication.fixture.ts'
import { ofAuthor } from './of-author.ts'

const ZONE = {
  'evil.example TXT': ['v=spf1 ip4:192.0.2.1 -all'],
  '_dmarc.evil.example TXT': ['v=DMARC1; p=reject'],
  '_dmarc.bank.example TXT': ['v=DMARC1; p=reject'],
}
const ENVELOPE = { ip: '192.0.2.1', helo: 'mx.evil.example', mailFrom: 'm@evil.example' }

async function look(header: string): Promise<{ auth: Authentication; shown: string[] }> {
  const source = Buffer.from(`${header}\r\nSubject: x\r\n\r\nHello\r\n`, 'latin1')
  const auth = await authenticate(source, ENVELOPE, checkedWith(zoneResolvers(ZONE)))
  const parsed = parseMail(new Uint8Array(source))
  assert(parsed.kind === 'mail')
  return { auth: ofAuthor(auth, parsed.from), shown: parsed.from.map(({ address }) => address) }
}

test('a From that two parsers could read differently is not proven for the author who is shown', async () => {
  for (const from of [
    '"ceo@bank.example" m@evil.example',
    '<ceo@bank.example>:m@evil.example',
    '(m@evil.example);<ceo@bank.example>:',
    'm@evil.example <ceo@bank.example>',
    '<m@evil.example> <ceo@bank.example>',
    'Group: m@evil.example;, ceo@bank.example',
  ]) {
    const { auth, shown } = await look(`From: ${from}`)
    const isShownAlone = shown.length === 1 && shown[0] === 'm@evil.example'
    assert.equal(auth.dmarc.result === 'pass', isShownAlone, `${from} shows ${shown.join()}`)
  }
})

test('a second From behind a form feed is no way to show one author and prove another', async () => {
  for (const header of [
    'From: m@evil.example\r\n\fFrom: ceo@bank.example',
    'From: m@evil.example\r\n\u00a0From: ceo@bank.example',
    '\vFrom: ceo@bank.example\r\nFrom: m@evil.example',
    'From : m@evil.example\r\nFrom\t: ceo@bank.example',
    'From: m@evil.example\r\nFrom ceo@bank.example: x',
  ]) {
    const { auth, shown } = await look(header)
    if (auth.dmarc.result === 'pass') assert.equal(shown.join(), 'm@evil.example', header)
    assert.equal((await look('From: m@evil.example')).auth.dmarc.result, 'pass')
  }
})

// prettier-ignore
const PIECES = [
  '"', '(', ')', '<', '>', ',', ';', ':', '\\', ' ', '\t', '\r\n ', '\f', '=?utf-8?q?=3C?=', '\x1b$B', '\xe4',
  'm@evil.example', 'ceo@bank.example', 'evil.example', '@', '<m@evil.example>', '<ceo@bank.example>', 'Ann',
  '\r\nFrom:', '\r\n\fFrom: ', '\r\nSender:', '\r\nX',
]

test('whatever From is made of, a proof is for the author who is shown', async () => {
  const piece = fc.constantFrom(...PIECES)
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async pieces => {
      const { auth, shown } = await look(`From: ${pieces.join('')}`)
      if (auth.dmarc.result !== 'pass') return
      assert.equal(shown.length, 1)
      assert.match(shown[0]!, /@evil\.example\.?$/)
    }),
    { numRuns: 1_000 },
  )
})

test('a header field of 200 KB is not proven, and costs nothing', async () => {
  const began = process.cpuUsage()
  for (const from of ['a:'.repeat(100_000), '"'.repeat(200_000), '<'.repeat(200_000), 'a@b,'.repeat(50_000)]) {
    assert.equal((await look(`From: ${from}`)).auth.dmarc.result, 'permerror')
  }
  const { user, system } = process.cpuUsage(began)
  assert.ok(user + system < 2_000_000, `${user + system} µs`)
})

test('an author in letters beyond ASCII is the same as in its ASCII form', async () => {
  const auth = { dmarc: { result: 'pass', policy: null, domain: 'xn--bcher-kva.example' } } as Authentication
  assert.equal(ofAuthor(auth, [{ address: 'ann@bücher.example' }]), auth)
})
