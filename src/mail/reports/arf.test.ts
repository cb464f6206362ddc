import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { type ArfReport, readArf } from './arf.ts'
import { valueOf } from '../mime/headers.ts'
import { parseMail } from '../mime/parse.ts'

async function complaintIn(lines: string[]): Promise<ArfReport | null> {
  const mail = parseMail(new Uint8Array(Buffer.from(lines.join('\r\n'))))
  assert(mail.kind === 'mail')
  return readArf(mail)
}

const ORIGINAL = [
  'Return-Path: <b-abc@bounce.acme.example>',
  'From: hello@acme.example',
  'To: jane@example.com',
  'Message-ID: <0190-a1@acme.example>',
  'X-Service-Tag: spring',
  'Subject: Hi',
]

const report = (fields: string[], original: string[], originalType = 'message/rfc822'): string[] => [
  'From: <abusedesk@example.com>',
  'Subject: FW: Hi',
  'MIME-Version: 1.0',
  'Content-Type: multipart/report; report-type=feedback-report; boundary="b1"',
  '',
  '--b1',
  'Content-Type: text/plain',
  '',
  'This is an email abuse report.',
  '--b1',
  'Content-Type: message/feedback-report',
  '',
  ...fields,
  '--b1',
  `Content-Type: ${originalType}`,
  '',
  ...original,
  '',
  'Hello',
  '--b1--',
]

test('a report by the book, as in RFC 5965', async () => {
  const complaint = await complaintIn(
    report(
      [
        'Feedback-Type: Abuse',
        'User-Agent: SomeGenerator/1.0',
        'Version: 1',
        'Original-Mail-From: <b-abc@bounce.acme.example>',
        'Original-Rcpt-To: <Jane@EXAMPLE.com>',
        'Arrival-Date: Sun, 15 Nov 2026 02:51:07 +0000',
        'Source-IP: 192.0.2.1',
      ],
      ORIGINAL,
    ),
  )
  const { originalHeader, ...rest } = complaint!
  assert.deepEqual(rest, {
    feedbackType: 'abuse',
    originalRecipients: ['Jane@example.com'],
    originalMailFrom: 'b-abc@bounce.acme.example',
    arrivalDate: new Date('2026-11-15T02:51:07Z'),
    sourceIp: '192.0.2.1',
    messageId: '<0190-a1@acme.example>',
    returnPath: 'b-abc@bounce.acme.example',
  })
  assert.equal(valueOf(originalHeader, 'x-service-tag'), 'spring')
})

test('only the header of the original is sent along', async () => {
  const complaint = await complaintIn(report(['Feedback-Type: abuse'], ORIGINAL, 'text/rfc822-headers'))
  assert.equal(complaint?.messageId, '<0190-a1@acme.example>')
})

test('garbage gives nothing or a harmless report', async () => {
  const pieces = fc.constantFrom(
    'Feedback-Type: abuse',
    'Original-Rcpt-To: <>',
    'Arrival-Date: soon',
    ':',
    '',
    ' ',
    '\0é',
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 40 }), async lines => {
      const complaint = await complaintIn(report(lines, lines))
      for (const recipient of complaint?.originalRecipients ?? []) assert.match(recipient, /@/)
      assert(!complaint?.arrivalDate || !Number.isNaN(complaint.arrivalDate.getTime()))
    }),
  )
})

test('what goes into events is a word, an address and an id, whatever a stranger wrote', async () => {
  const typeOf = async (value: string) =>
    (await complaintIn(report([`Feedback-Type: ${value}`], ORIGINAL)))?.feedbackType
  assert.equal(await typeOf('Fraud (of a kind)'), 'fraud')
  assert.equal(await typeOf('abuse\u001b[31m\u0000red'), 'abuse')
  for (const nonsense of ['x'.repeat(5_000), '\u0000', '\ud800é', '<script>'])
    assert.equal(await typeOf(nonsense), 'other')
  const strange = await complaintIn(
    report(
      ['Feedback-Type: abuse', 'Source-IP: 1.2.3.4\u0007; drop', 'Original-Rcpt-To: <jane\u0000@example.com>'],
      [`Message-ID: <a\u0007${'b'.repeat(2_000)}@x>`],
    ),
  )
  assert.deepEqual([strange?.sourceIp, strange?.messageId, strange?.originalRecipients], [null, null, []])
})
