// The Authentication-Results field: ours is well-formed, and those that pretend to be ours are found.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authentication } from './authenticate.ts'
import { authenticationResults, forgedResults } from './results-field.ts'
import { cpuStopwatch } from '../../../test/support/main-thread.ts'

const AUTH: Authentication = {
  spf: { result: 'pass', domain: 'acme.example', aligned: true },
  dkim: {
    result: 'pass',
    signatures: [
      { domain: 'acme.example', selector: 's1', result: 'pass', aligned: true },
      { domain: 'x"; dmarc=pass', selector: 'a\r\nEvil: x', result: 'neutral', aligned: false },
    ],
  },
  dmarc: { result: 'pass', policy: 'reject', domain: 'acme.example' },
  arc: { result: 'none' },
}

test('the field names every result, and nothing that a sender chose can end it', () => {
  assert.equal(
    authenticationResults('mx.sluice.example', AUTH),
    'Authentication-Results: mx.sluice.example;\r\n' +
      '\tdkim=pass header.d=acme.example header.s=s1;\r\n' +
      '\tdkim=neutral;\r\n' +
      '\tspf=pass smtp.mailfrom=acme.example;\r\n' +
      '\tdmarc=pass (p=reject) header.from=acme.example;\r\n' +
      '\tarc=none\r\n',
  )
})

const OURS = [
  'Authentication-Results: mx.sluice.example; spf=pass',
  'AUTHENTICATION-results : MX.Sluice.Example 1; dmarc=pass',
  'Authentication-Results:\r\n mx.sluice.example;\r\n dkim=pass',
  'Authentication-Results: (a (nested\\)) comment) mx.sluice.example (more); spf=pass',
  'Authentication-Results:\r\n\t(x)\r\n\t"mx.sluice.example"; spf=pass',
  'Authentication-Results: mx.sluice.example(comment); spf=pass',
  'Authentication-Results: mx.sluice.example.; spf=pass',
  'Authentication-Results: mx.sluice.example(comment)1; spf=pass',
  'Authentication-Results: "mx.sluice.example"1; spf=pass',
  'Authentication-Results\r\n : mx.sluice.example; spf=pass',
  'Authentication-Results: mx.(glued)sluice.example; spf=pass',
  'Authentication-Results: ; spf=pass',
  'Authentication-Results: (unclosed mx.other.example; spf=pass',
]
const OTHERS = [
  'Authentication-Results: mx.other.example; spf=pass smtp.helo=mx.sluice.example',
  'Authentication-Results: mx.sluice.example.evil.example; spf=pass',
  'X-Authentication-Results: mx.sluice.example; spf=pass',
  'ARC-Authentication-Results: i=1; mx.sluice.example; spf=pass',
  'Subject: Authentication-Results: mx.sluice.example',
]

test('fields with our name are found in every spelling, with their bytes and no others', () => {
  for (const field of OURS) {
    const before = 'Subject: é\r\n'
    const header = Buffer.from(`${before}${field}\r\nTo: x@y.example\r\n`)
    const start = Buffer.byteLength(before)
    assert.deepEqual(forgedResults(header, 'mx.sluice.example'), [{ start, end: start + field.length + 2 }], field)
  }
  for (const field of OTHERS)
    assert.deepEqual(forgedResults(Buffer.from(`${field}\r\n`), 'mx.sluice.example'), [], field)
  const many = Buffer.from([...OURS, ...OTHERS].map(field => `${field}\r\n`).join(''))
  assert.equal(forgedResults(many, 'MX.sluice.example').length, OURS.length)
})

test('a header of a megabyte of comments is read in one pass', () => {
  const header = Buffer.from(`Authentication-Results: ${'('.repeat(1_000_000)}\r\n`)
  const cpuMs = cpuStopwatch()
  assert.equal(forgedResults(header, 'mx.sluice.example').length, 1)
  assert(cpuMs() < 1_000)
})
