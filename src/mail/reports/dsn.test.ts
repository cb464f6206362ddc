import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { plain, report, reportsIn } from './dsn.fixture.ts'
import { classifyDsn, readDsn } from './dsn.ts'
import { parseMail } from '../mime/parse.ts'

test('Postfix: a report by the book', async () => {
  const reports = await reportsIn(
    report([
      'Reporting-MTA: dns; mx.example.net',
      'Arrival-Date: Sun, 15 Nov 2026 02:51:07 +0000',
      '',
      'Final-Recipient: rfc822; Jane@EXAMPLE.com',
      'Original-Recipient: rfc822;jane+2Btag@example.com',
      'Action: failed',
      'Status: 5.1.1',
      'Remote-MTA: dns; mx1.example.com',
      'Diagnostic-Code: smtp; 550 5.1.1 <jane@example.com>: Recipient address rejected:',
      '    User unknown in virtual mailbox table',
      '',
    ]),
  )
  assert.deepEqual(reports, [
    {
      action: 'failed',
      status: '5.1.1',
      finalRecipient: 'Jane@example.com',
      originalRecipient: 'jane+tag@example.com',
      diagnosticCode:
        '550 5.1.1 <jane@example.com>: Recipient address rejected:    User unknown in virtual mailbox table',
      remoteMta: 'mx1.example.com',
      reply: {
        code: 550,
        enhanced: '5.1.1',
        text: '<jane@example.com>: Recipient address rejected: User unknown in virtual mailbox table',
      },
      words: 'This is the mail system at host mx.example.net.',
    },
  ])
  assert.equal(classifyDsn(reports[0]!).class, 'hard')
})

test('two recipients in blocks of their own', async () => {
  const reports = await reportsIn(
    report([
      'Reporting-MTA: dns; mx.example.net',
      '',
      'Final-Recipient: rfc822; a@example.com',
      'Action: failed',
      'Status: 5.2.2',
      '',
      'Final-Recipient: rfc822; b@example.com',
      'Action: delayed',
      'Status: 4.4.1',
    ]),
  )
  assert.deepEqual(
    reports.map(({ finalRecipient, action, status }) => [finalRecipient, action, status]),
    [
      ['a@example.com', 'failed', '5.2.2'],
      ['b@example.com', 'delayed', '4.4.1'],
    ],
  )
  assert.deepEqual(
    reports.map(one => classifyDsn(one).class),
    ['soft', 'transient'],
  )
})

test('blocks without the blank line between them', async () => {
  const reports = await reportsIn(
    report([
      'Reporting-MTA: dns; mx.example.net',
      'Final-Recipient: rfc822; a@example.com',
      'Action: failed',
      'Status: 5.1.1',
      'Final-Recipient: rfc822; b@example.com',
      'Action: failed',
      'Status: 5.7.1',
    ]),
  )
  assert.deepEqual(
    reports.map(one => one.finalRecipient),
    ['a@example.com', 'b@example.com'],
  )
  assert.deepEqual(
    reports.map(one => classifyDsn(one).class),
    ['hard', 'block'],
  )
})

test('Gmail: an answer of several lines folded into one field', async () => {
  const [one] = await reportsIn(
    report([
      'Reporting-MTA: dns; googlemail.com',
      '',
      'Final-Recipient: rfc822; jane@gmail.com',
      'Action: failed',
      'Status: 5.2.2',
      'Diagnostic-Code: smtp; 552-5.2.2 The email account that you tried to reach is over quota.',
      ' 552 5.2.2 https://support.google.com/mail/?p=OverQuotaPerm - gsmtp',
    ]),
  )
  assert.equal(one!.reply.code, 552)
  assert.equal(
    one!.reply.text,
    'The email account that you tried to reach is over quota. https://support.google.com/mail/?p=OverQuotaPerm - gsmtp',
  )
})

test('Exchange: only a status, and no recipient', async () => {
  const [one] = await reportsIn(report(['Reporting-MTA: dns;ex01.example.com', '', 'Action: failed', 'Status: 5.1.10']))
  assert.equal(one!.finalRecipient, null)
  assert.deepEqual(one!.reply, { code: 500, enhanced: '5.1.10', text: '' })
  assert.equal(classifyDsn(one!).class, 'hard')
})

test('a recipient that is no address, an action with a comment, a status with words', async () => {
  const [one] = await reportsIn(
    report(['', 'Final-Recipient: x-local; <root>', 'Action: Failed (gave up)', 'Status: 5.4.7 (expired)']),
  )
  assert.equal(one!.finalRecipient, null)
  assert.equal(one!.action, 'failed')
  assert.equal(one!.status, '5.4.7')
})

test('a server that gave up after temporary answers has failed softly', async () => {
  const [one] = await reportsIn(
    report([
      '',
      'Final-Recipient: rfc822; jane@example.com',
      'Action: failed',
      'Status: 4.4.7',
      'Diagnostic-Code: smtp; 451 4.4.1 connection timed out',
    ]),
  )
  assert.deepEqual(classifyDsn(one!), { class: 'soft', rule: 'gave-up' })
})

test('a report of success is read as success', async () => {
  const [one] = await reportsIn(
    report(['', 'Final-Recipient: rfc822; jane@example.com', 'Action: relayed', 'Status: 2.1.5']),
  )
  assert.equal(one!.action, 'relayed')
  assert.equal(classifyDsn(one!).class, 'transient')
})

test('an unknown action is decided by the status, and never as failure without one', async () => {
  const action = async (...lines: string[]) => (await reportsIn(report(['', ...lines])))[0]!.action
  assert.equal(await action('Action: kaputt', 'Status: 5.0.0'), 'failed')
  assert.equal(await action('Action: kaputt', 'Status: 2.0.0'), 'delivered')
  assert.equal(await action('Action: kaputt'), 'delayed')
})

test('garbage gives no report or a harmless one, quickly', async () => {
  const pieces = fc.constantFrom(
    'Action: failed',
    'Status: 5.1.1',
    'Final-Recipient: ;;<>',
    ':',
    '',
    '<a@b.cc>:',
    '550',
    ' ',
    '\0é',
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 60 }), async lines => {
      for (const one of [
        ...(await reportsIn(report(lines))),
        ...(await reportsIn(plain('failure notice', ...lines))),
      ]) {
        assert(one.finalRecipient === null || one.finalRecipient.includes('@'))
        assert(one.status === null || /^[245]\.\d+\.\d+$/.test(one.status))
      }
    }),
  )
  const hostile = [
    '<'.repeat(50_000),
    ' '.repeat(50_000),
    '\n'.repeat(50_000),
    `Diagnostic-Code: a${' '.repeat(60_000)}b`,
    ': '.repeat(30_000),
  ]
  for (const text of hostile) {
    const mail = await parseMail(new Uint8Array(Buffer.from(report([`Action: failed`, text]).join('\r\n'))))
    const other = await parseMail(
      new Uint8Array(Buffer.from(plain('failure notice', 'This is the qmail-send program', text).join('\r\n'))),
    )
    assert(mail.kind === 'mail' && other.kind === 'mail')
    const before = process.threadCpuUsage()
    readDsn(mail)
    readDsn(other)
    const { user, system } = process.threadCpuUsage(before)
    assert(user + system < 250_000, 'what one message may cost the main thread, in µs')
  }
})
