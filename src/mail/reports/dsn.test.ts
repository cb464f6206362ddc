import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { plain, report, reportsIn } from './dsn.fixture.ts'
import { readDsn } from './dsn.ts'
import { parseMail } from '../mime/parse.ts'

test('an unknown action is decided by the status, and never as failure without one', async () => {
  const action = async (...lines: string[]) => (await reportsIn(report(['', ...lines])))[0]!.action
  assert.equal(await action('Action: kaputt', 'Status: 5.0.0'), 'failed')
  assert.equal(await action('Action: kaputt', 'Status: 2.0.0'), 'delivered')
  assert.equal(await action('Action: kaputt'), 'delayed')
})

test('a notice of success and a request to confirm that one is no machine are no bounces', async () => {
  const success = plain(
    'Successful Mail Delivery Report',
    '<jane@example.com>: delivery via mx.example.com: 250 2.0.0 Ok',
  )
  const challenge = plain('Please confirm', 'Your mail was not delivered: unknown sender. Click here to confirm it.')
  assert.deepEqual(await reportsIn(success), [])
  assert.deepEqual(await reportsIn(challenge.map(line => line.replace(/^From: .*/, 'From: jane@example.com'))), [])
})

test('a notice in HTML is read as people see it', async () => {
  const [head, body] = [plain('Non remis'), '<p>L&#8217;adresse n&rsquo;existe pas&nbsp;: jos&eacute;</p>']
  const [found] = await reportsIn(['Content-Type: text/html', ...head, body])
  assert.equal(found!.words, 'L’adresse n’existe pas : josé')
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
    const mail = parseMail(new Uint8Array(Buffer.from(report([`Action: failed`, text]).join('\r\n'))))
    const other = parseMail(
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
