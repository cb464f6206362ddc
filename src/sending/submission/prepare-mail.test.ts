// What becomes of the header that a client sent, and what is not accepted in it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hasLongLine } from '../../mail/mime/body-encoding.ts'
import { valueOf, valuesOf } from '../../mail/mime/headers.ts'
import { Refusal } from '../../platform/refusal.ts'
import { mailboxesIn } from './addressed.ts'
import { FROM, prepare, refusalOf } from './prepare-mail.fixture.ts'
import { SmtpRefusal } from './reply.ts'
import { message } from './submission.fixture.ts'
import { cpuStopwatch } from '../../../test/support/main-thread.ts'

test('Received comes first; Date and Message-ID are added where they are missing', () => {
  const { submission, text } = prepare(message(FROM, '', 'Hello'))
  const id = submission.messageId
  assert.equal(
    text,
    message(
      'Received: from laptop.example ([192.0.2.1])',
      `\tby mx.sluice.test with ESMTPSA id ${id};`,
      '\tSun, 15 Nov 2026 03:00:00 +0000',
      'Date: Sun, 15 Nov 2026 03:00:00 +0000',
      `Message-ID: <${id}@acme.example>`,
      FROM,
      '',
      'Hello',
    ),
  )
  assert.equal(submission.rfcMessageId, `<${id}@acme.example>`)
})

test('what the client said stays as it was, signatures of others included', () => {
  const header = [
    FROM,
    'Date: yesterday',
    'Message-ID: <1@acme.example>',
    'DKIM-Signature: v=1; d=acme.example',
    'X-A: b',
  ]
  const { submission, text } = prepare(message(...header, '', '.dot', 'Bcc: in the body'))
  assert.ok(text.endsWith(message(...header, '', '.dot', 'Bcc: in the body')))
  assert.equal(submission.rfcMessageId, '<1@acme.example>')
})

test('a Message-ID that is none is replaced', () => {
  const { submission, fields } = prepare(message(FROM, 'Message-ID: what is this', '', ''))
  assert.deepEqual(valuesOf(fields, 'message-id'), [submission.rfcMessageId])
  assert.equal(submission.rfcMessageId, `<${submission.messageId}@acme.example>`)
})

test('Received names the protocol and never a way out of its line', () => {
  const client = { id: 's', ip: '2001:db8::1', helo: 'a(b);c"d', isSecure: false }
  const { fields } = prepare(message(FROM, ''), { client, smtputf8: true })
  const value = valueOf(fields, 'received')!
  assert.match(value, /^from a\?b\?\?c\?d \(\[IPv6:2001:db8::1\]\)\tby mx\.sluice\.test with UTF8SMTPA id /)
})

test('what is not for the recipients is taken out, folded lines included', () => {
  const { fields, text } = prepare(
    message(
      'Return-Path: <x@y.example>',
      'Bcc: secret@example.com,',
      '\tother@example.com',
      FROM,
      'bcc : third@example.com',
      'Resent-Bcc: fourth@example.com',
      'X-Service-Tags: a',
      'x-service-metadata: {"order":"canary"}',
      'X-Service-Whatever: canary',
      'Idempotency-Key: canary',
      'Subject: Hi',
      '',
      'Hello',
    ),
  )
  assert.deepEqual(
    fields.map(({ lowerName }) => lowerName),
    ['received', 'date', 'message-id', 'from', 'subject'],
  )
  assert.doesNotMatch(text, /secret|other|third|fourth|canary/)
})

test('tags, metadata and the idempotency key are understood', () => {
  const { submission } = prepare(
    message(
      FROM,
      'X-Service-Tags: welcome, =?UTF-8?Q?gr=C3=BC=C3=9Fe?=,',
      ' welcome',
      'X-Service-Metadata: {"order": "12",',
      ' "note": "caf\\u00e9"}',
      'Idempotency-Key:  order 12 ',
      '',
      '',
    ),
  )
  assert.deepEqual(submission.tags, ['welcome', 'grüße'])
  assert.deepEqual(submission.metadata, { order: '12', note: 'café' })
  assert.equal(submission.idempotency?.key, 'order 12')
  const longest = '😀'.repeat(255)
  assert.equal(prepare(message(FROM, `Idempotency-Key: ${longest}`, '', '')).submission.idempotency?.key, longest)
  assert.equal(prepare(message(FROM, '', '')).submission.idempotency, null)
})

test('they are held to the limits of the API', () => {
  const cases = [
    `X-Service-Tags: ${'x'.repeat(129)}`,
    `X-Service-Tags: ${Array.from({ length: 51 }, (_, n) => `t${n}`).join(',')}`,
    'X-Service-Metadata: no json',
    'X-Service-Metadata: ["a"]',
    'X-Service-Metadata: null',
    'X-Service-Metadata: {"a": 1}',
    'X-Service-Metadata: {"__proto__": "x"}',
    'X-Service-Metadata: {"a": "\\u0000"}',
    'X-Service-Metadata: {"a": "\\ud800"}',
    `X-Service-Metadata: {"${'x'.repeat(41)}": ""}`,
    `X-Service-Metadata: {"a": "${'x'.repeat(501)}"}`,
    'X-Service-Metadata: {}\r\nX-Service-Metadata: {}',
    'Idempotency-Key:',
    `Idempotency-Key: ${'x'.repeat(256)}`,
    `Idempotency-Key: ${'😀'.repeat(256)}`,
    'Idempotency-Key: a\r\nIdempotency-Key: b',
  ]
  for (const lines of cases) assert.match(refusalOf(message(FROM, lines, '', '')), /^550 5\.6\.0/, lines)
})

test('From is exactly one address', () => {
  const cases = [
    'To: a@example.com',
    'From: nobody',
    'From: a@x.example, b@x.example',
    'From: a@x.example\r\nFrom: b@x.example',
    'From: group: a@x.example;',
    'From:',
  ]
  for (const lines of cases) assert.match(refusalOf(message(lines, '', '')), /^550 5\.6\.0/, lines)
  assert.match(refusalOf(message('', 'From: a@x.example')), /^550 5\.6\.0/)
  assert.match(refusalOf(''), /^550 5\.6\.0/)
  for (const value of ['a@x.example (Cron Daemon)', '"Doe, A" <a@x.example> (x)', '(x) a@x.example']) {
    assert.equal(prepare(message(`From: ${value}`, '', '')).submission.sender, 'a@x.example', value)
  }
  assert.match(refusalOf(message('From: a@x.example (x), b@x.example', '', '')), /^550 5\.6\.0/)
  const { submission } = prepare(message('From: =?UTF-8?Q?J=C3=B6rg?=', '\t<J@BÜCHER.example>', '', ''))
  assert.equal(submission.sender, 'J@xn--bcher-kva.example')
  assert.equal(submission.senderDomain, 'xn--bcher-kva.example')
})

test('a header in which two readers could see two messages is refused', () => {
  const cases: (string | Buffer)[] = [
    message(FROM, 'Subject: a', 'Subject: b', '', ''),
    message(FROM, 'To: a@x.example', 'TO: b@x.example', '', ''),
    message(FROM, 'Content-Type: text/plain', 'Content-Type: text/html', '', ''),
    message(FROM, 'no colon here', '', ''),
    message(FROM, 'two words: x', '', ''),
    message(' From: folded@x.example', FROM, '', ''),
    Buffer.from(message(FROM, 'Subject: \xff\xfe', '', ''), 'latin1'),
    message(FROM, `X-Long: ${'x'.repeat(1_048_576)}`, '', ''),
  ]
  for (const source of cases) assert.match(refusalOf(source), /^550 5\.6\.0/)
})

test('more than thirty Received are a loop', () => {
  const received = (count: number) => Array.from({ length: count }, (_, n) => `Received: from h${n} by h${n + 1}; now`)
  assert.match(refusalOf(message(...received(31), FROM, '', '')), /^550 5\.4\.6/)
  prepare(message(...received(30), FROM, '', ''))
})

test('who is named in To or Cc is that, all others are blind copies, each once', () => {
  const { submission } = prepare(
    message(
      FROM,
      'To: "Doe, Jane" <to@Example.com>, friends: (the group) g@example.com, x@example.com;',
      'Cc: cc@example.com, to@example.com',
      '',
      '',
    ),
    { to: ['bcc@example.com', 'cc@example.com', 'to@example.com', 'g@example.com', 'to@example.com'] },
  )
  assert.deepEqual(
    submission.recipients.map(({ address, kind }) => [address, kind]),
    [
      ['bcc@example.com', 'bcc'],
      ['cc@example.com', 'cc'],
      ['to@example.com', 'to'],
      ['g@example.com', 'to'],
    ],
  )
})

test('an address list of any shape is read in a moment', () => {
  const cpuMs = cpuStopwatch()
  for (const text of ['"\\"'.repeat(200_000), '('.repeat(400_000), '<'.repeat(400_000), 'a,'.repeat(200_000)]) {
    const { mailboxes, isWhole } = mailboxesIn(text)
    assert.deepEqual({ mailboxes, isWhole }, { mailboxes: [], isWhole: false })
  }
  assert.ok(cpuMs() < 2_000)
  assert.deepEqual(mailboxesIn('a@b.example, "open').isWhole, false)
})

test('the same message to the same people has the same hash, and nothing else has', () => {
  const hash = (lines: string[], to?: string[]) =>
    prepare(
      message(...lines, 'Idempotency-Key: k', '', 'Hello'),
      to && { to },
    ).submission.idempotency!.bodyHash.toString('hex')
  const first = hash([FROM, 'Subject: Hi'], ['a@example.com', 'b@example.com'])
  const same = ['Date: later', 'Message-ID: <2@x.example>', 'Received: from a by b; now', 'Bcc: b@example.com']
  assert.equal(hash([...same, FROM, 'subject: Hi'], ['b@example.com', 'a@example.com']), first)
  for (const other of [
    hash([FROM, 'Subject: Ho'], ['a@example.com', 'b@example.com']),
    hash([FROM, 'Subject: Hi'], ['a@example.com']),
    hash([FROM, 'Subject: Hi', 'X-Service-Tags: t'], ['a@example.com', 'b@example.com']),
    hash([FROM, 'Subject: Hi\r\nX-A: b'], ['a@example.com', 'b@example.com']),
  ]) {
    assert.notEqual(other, first)
  }
})

test('no line over 998 octets leaves: it is written anew, or refused with 550 5.6.3', () => {
  const long = `${'word '.repeat(300)}end`
  const multipart = [
    FROM,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    '',
    long,
    '--b--',
  ]
  for (const lines of [
    multipart,
    [FROM, `Subject: ${long}`, '', ''],
    [FROM, `To: ${'a@b.example,'.repeat(200)}`, '', ''],
  ]) {
    assert.equal(hasLongLine(prepare(message(...lines)).submission.source), false)
  }
  assert.match(refusalOf(message(FROM, `X-Token: ${'x'.repeat(1_000)}`, '', '')), /^550 5\.6\.3/)
  assert.match(
    refusalOf(message(FROM, 'Content-Type: multipart/signed; boundary=b', '', '--b', '', long, '--b--')),
    /^550 5\.6\.3/,
  )
  // What is not sent on may be as long as it likes.
  prepare(message(FROM, `Bcc: ${'a@b.example,'.repeat(200)}`, '', ''))
})

test('whatever is accepted, no line of it is over 998', () => {
  const word = fc.tuple(
    fc.constantFrom('a', 'a ', 'ü', '<a@b>', 'x@y.example,', '"'),
    fc.integer({ min: 1, max: 1_100 }),
  )
  const line = fc
    .tuple(fc.constantFrom('Subject: ', 'To: ', 'X-A: ', 'References: ', 'Content-Type: ', 'Reply-To: ', ' ', ''), word)
    .map(([name, [unit, count]]) => name + unit.repeat(count))
  fc.assert(
    fc.property(fc.array(line, { maxLength: 5 }), fc.array(line, { maxLength: 5 }), (header, body) => {
      try {
        assert.equal(hasLongLine(prepare(message(FROM, ...header, '', ...body)).submission.source), false)
      } catch (error) {
        assert.ok(error instanceof Refusal || error instanceof SmtpRefusal, String(error))
      }
    }),
    { numRuns: 500 },
  )
})

test('no message makes it fail in any other way than with a refusal', () => {
  const line = fc.oneof(
    fc.constantFrom(
      FROM,
      'To: a@b.example',
      'Subject: x',
      '',
      ' folded',
      'Content-Type: text/plain',
      'X-Service-Tags: a',
    ),
    fc.string({ unit: 'grapheme' }).map(text => text.replaceAll(/[\r\n\0]/g, '')),
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), lines => {
      try {
        prepare(message(FROM, ...lines))
      } catch (error) {
        assert.ok(error instanceof Refusal, String(error))
      }
    }),
    { numRuns: 500 },
  )
})
