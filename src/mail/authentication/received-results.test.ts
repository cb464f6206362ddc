// What a provider found out about a mail is believed where the provider wrote it, and nowhere else.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { receivedResults } from './received-results.ts'
import { cpuStopwatch } from '../../../test/support/main-thread.ts'

const source = (...lines: string[]): Buffer => Buffer.from(`${lines.join('\r\n')}\r\n\r\nHello.\r\n`)

const GMAIL = [
  'Delivered-To: jane@gmail.com',
  'Received: by 2002:a05:6a20:7da3:b0:1 with SMTP id x; Mon, 16 Nov 2026 10:00:01 -0800 (PST)',
  'X-Received: by 2002:a17:903:2 with SMTP id y; Mon, 16 Nov 2026 10:00:01 -0800 (PST)',
  'ARC-Seal: i=1; a=rsa-sha256; d=google.com',
  'Return-Path: <ann@mail.acme.example>',
  'Received: from mail.acme.example (mail.acme.example. [192.0.2.1])',
  '        by mx.google.com with ESMTPS id z; Mon, 16 Nov 2026 10:00:00 -0800 (PST)',
  'Received-SPF: pass (google.com: domain of ann@mail.acme.example designates 192.0.2.1)',
]

const RESULTS = [
  'Authentication-Results: mx.google.com;',
  '       dkim=pass header.i=@acme.example header.s=s1 header.b=abc;',
  '       spf=pass (google.com: domain of ann@mail.acme.example designates 192.0.2.1) smtp.mailfrom=ann@mail.acme.example;',
  '       dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=acme.example',
]

test('results of Gmail are read from the field that it wrote on top', () => {
  const found = receivedResults(source(...GMAIL, ...RESULTS, 'From: Ann <ann@acme.example>'), 'google')

  assert.deepEqual(found, {
    spf: { result: 'pass', domain: 'mail.acme.example', aligned: true },
    dkim: {
      result: 'pass',
      signatures: [{ domain: 'acme.example', selector: 's1', result: 'pass', aligned: true }],
    },
    dmarc: { result: 'pass', policy: 'reject', domain: 'acme.example' },
    arc: { result: 'none' },
  })
})

test('results of Microsoft are read although it leaves its name out', () => {
  const found = receivedResults(
    source(
      'Received: from AM0PR01.eurprd01.prod.exchangelabs.com (::1) by AS8PR01.prod.outlook.com with HTTPS',
      'Received: from mail.acme.example (192.0.2.1) by DB5EUR01FT1.mail.protection.outlook.com (10.0.0.1)',
      'Authentication-Results: spf=fail (sender IP is 192.0.2.1) smtp.mailfrom=acme.example; dkim=none',
      ' (message not signed) header.d=none;dmarc=fail action=quarantine header.from=acme.example;compauth=fail reason=000',
      'Received-SPF: Fail (protection.outlook.com: domain of acme.example does not designate)',
    ),
    'microsoft',
  )

  assert.deepEqual(found, {
    spf: { result: 'fail', domain: 'acme.example', aligned: false },
    dkim: { result: 'none', signatures: [] },
    dmarc: { result: 'fail', policy: null, domain: 'acme.example' },
    arc: { result: 'none' },
  })
})

const FORGED = 'Authentication-Results: mx.google.com; dmarc=pass header.from=bank.example'

for (const [name, lines] of Object.entries({
  'a sender wrote below its own fields': [...GMAIL, 'DKIM-Signature: v=1', FORGED],
  'stands above a server that is not the provider’s': ['Received: from a by mx.evil.example', ...GMAIL, ...RESULTS],
  'stands in a mail that the provider never received': [FORGED, 'From: bank.example'],
  'names another server': [...GMAIL, 'Authentication-Results: mx.evil.example; dmarc=pass header.from=bank.example'],
  'is longer than any honest one': [...GMAIL, `${FORGED}; x=${'y'.repeat(10_000)}`],
})) {
  test(`a field that ${name} is not believed`, () => {
    assert.equal(receivedResults(source(...lines), 'google'), null)
  })
}

for (const sender of [
  '"a;dmarc=pass header.from=bank.example;b"@evil.example',
  '"a) ; dmarc=pass header.from=bank.example; ("@evil.example',
  '(;dmarc=pass header.from=bank.example;)@evil.example',
  '"x); dmarc=pass (p=REJECT) header.from=bank.example; x=(y"@evil.example',
]) {
  test(`the address of a sender says nothing about a mail: ${sender}`, () => {
    const field = [
      'Authentication-Results: mx.google.com;',
      `       spf=pass (google.com: domain of ${sender} designates 192.0.2.1) smtp.mailfrom=${sender};`,
      '       dmarc=fail (p=REJECT sp=REJECT dis=NONE) header.from=bank.example',
    ]
    // Of an author without a policy nothing is said about DMARC.
    for (const lines of [field, field.slice(0, 2)]) {
      const found = receivedResults(source(...GMAIL, ...lines), 'google')
      assert.notEqual(found?.dmarc.result, 'pass')
    }
  })
}

test('words that are no results prove nothing, and are read in linear time', () => {
  const odd = `Authentication-Results: mx.google.com; dmarc=PASSED (p=(((;spf=;dkim=pass header.i=${'('.repeat(7_000)}`
  const cpuMs = cpuStopwatch()
  const found = receivedResults(source(...GMAIL, odd), 'google')

  assert.equal(found?.dmarc.result, 'none')
  assert.ok(cpuMs() < 200)
})
